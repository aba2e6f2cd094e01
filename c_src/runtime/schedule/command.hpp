// A command, from submission to completion. The scheduler's lock guards all members except the id.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/device/cl_api.hpp"
#include "runtime/error.hpp"
#include "runtime/memory/buffer.hpp"
#include "runtime/memory/storage.hpp"
#include "runtime/schedule/chain.hpp"
#include "runtime/schedule/launch.hpp"

namespace dala {

class CpuRun;
class Profile;
class Scheduler;
struct Command;

using CommandId = uint64_t;

// The submitter of a command, as far as the runtime needs to know it. The scheduler is fair between
// clients.
class Client {
 public:
  virtual ~Client() = default;
  virtual uint64_t key() const = 0;
  // If false, nobody needs the result, so a command that has not started is dropped.
  virtual bool wants_result() const = 0;
  // Whether another process listens to the result, so that the command outlives its client.
  virtual bool shared() const { return false; }
};

// Called once, outside of any lock, when a command ends; `error` is null on success.
using Listener = std::function<void(CommandId id, const Error* error)>;

// Identifies a listener for its removal.
using Token = uint64_t;

// One launch of a command, or a barrier if it has no launch.
struct Stage {
  std::shared_ptr<const Launch> launch;
  std::vector<BufferPtr> inputs;
  BufferPtr output;                          // may be null: nothing is written
  std::vector<BufferPtr> more_outputs = {};  // if the launch writes several buffers
};

// A buffer that a caller's stage names, whether or not a launch uses it after fusion.
struct Use {
  BufferPtr buffer;
  int64_t stage = 0;  // negative: the caller gave no stages
  int input = -1;     // position; negative: the output
};

struct BoundOutput {
  StoragePtr storage;
  // The buffer's old storage, set if the output got fresh memory. It is copied over if the launch
  // writes only some elements, or does not run at all.
  StoragePtr previous;
};

// When a step was enqueued, started and ended, in nanoseconds.
struct StepTime {
  int64_t queued = 0;
  int64_t started = 0;
  int64_t ended = 0;
};

// A stage bound to its memory.
struct BoundStage {
  std::shared_ptr<const Launch> launch;
  std::vector<StoragePtr> inputs;
  std::vector<BoundOutput> outputs;
  std::vector<StoragePtr> scratch;
  // For launches that are not trusted: exported inputs by position. The launch gets copies, which
  // are made first.
  std::vector<std::pair<size_t, StoragePtr>> originals;
  // For a profile: events of the steps on a queue, or their times in a CpuRun.
  std::vector<ClEvent> events;
  std::vector<StepTime> times;
  std::vector<size_t> after;  // earlier parts of the command that must complete first
};

// The memory that an operand refers to.
inline const StoragePtr& storage_of(const Operand& operand, const BoundStage& stage) {
  const auto index = static_cast<size_t>(operand.index);
  switch (operand.kind) {
    case Operand::Kind::input:
      return stage.inputs.at(index);
    case Operand::Kind::scratch:
      return stage.scratch.at(index);
    case Operand::Kind::output:
      break;
  }
  return stage.outputs.at(index).storage;
}

// Stages that a command runs in rounds, one after the other, such as a pipeline that runs many
// times. Between rounds other clients have their turns, and the command can be cancelled; it keeps
// its place in the order of its buffers until the last round.
struct Rounds {
  uint64_t left = 0;  // rounds after the current one
  size_t rest = 0;    // parts of the last round, which may be shorter
  // Pairs of buffers that have swapped their memory at submission.
  std::vector<std::pair<BufferPtr, BufferPtr>> exchanged = {};
  // The parts of later rounds. Only the first round gives buffers fresh memory.
  std::vector<BoundStage> parts = {};
  bool begun = false;  // at least one round has ended
  bool due = false;    // the parts of the current round are not set yet
};

using Listeners = std::vector<std::pair<Token, Listener>>;

// Work that remains once the scheduler's lock is released: listeners to call, memory to release. A
// member of the command, so that reporting its end does not allocate.
struct Ended {
  std::shared_ptr<Command> command;  // the owner of this object; set while in use
  Listeners listeners = {};
  Listeners end_listeners = {};
  ErrorPtr error = nullptr;
  std::vector<BoundStage> parts = {};
  std::vector<BoundStage> refused = {};
  std::unique_ptr<Rounds> rounds = {};
  std::vector<std::shared_ptr<Profile>> profiles = {};  // that include the parts
  Ended* next = nullptr;
};

struct ClientLine;

// Invariant: once a command is entered, its state changes do not allocate; the links of the
// scheduler's lists are members.
struct Command : std::enable_shared_from_this<Command> {
  enum class State {
    waiting,  // for programs, or for a dependency to be enqueued
    ready,    // to be enqueued as soon as there is room
    running,  // in flight
    done,
  };

  explicit Command(Scheduler& scheduler) : scheduler(scheduler) {}

  uint64_t client_key() const { return client == nullptr ? 0 : client->key(); }
  bool goes_on() const { return rounds != nullptr && rounds->left > 0 && error == nullptr; }

  Scheduler& scheduler;
  CommandId id = 0;  // set before anyone else sees the command
  State state = State::waiting;
  std::shared_ptr<Client> client;
  std::vector<BoundStage> parts;
  std::unique_ptr<Rounds> rounds;  // null if there is only one
  bool calls = false;              // has a CallStep: enqueued by a worker thread
  bool lengthy = false;            // enqueued by a thread for lengthy commands
  bool trusted = true;             // whether all its launches are
  bool finds = false;  // at its end, unknown group functions of its kernels are looked up
  bool fills = false;  // if it fails, the content of its output is undefined
  double work = 0;     // of all parts
  Listeners listeners;
  Listeners end_listeners;                         // called once its memory is settled, too
  bool shared = false;                             // has, or had, a listener other than its client
  std::shared_ptr<Profile> profile;                // of this command alone; may be null
  std::vector<std::shared_ptr<Profile>> profiles;  // that were active at its start

  int unmet = 0;                                       // reasons to wait
  std::vector<std::shared_ptr<Command>> dependencies;  // pending at submission
  std::vector<std::shared_ptr<Command>> dependents;    // waiting for this command to be enqueued
  CommandId last_dependent = 0;                        // the largest id that depends on this
  uint64_t last_counted = 0;                           // the latest count that includes this
  ClEvent finished;                                    // while running on a queue
  std::shared_ptr<CpuRun> run;                         // while running on the executor
  Command* next_here = nullptr;  // among the commands for the submitting thread
  // Set once the command is known to fail. Its listeners may have been called while the command
  // still holds its place in the order of its buffers.
  ErrorPtr error;
  std::vector<BoundStage> refused;  // parts of which the driver accepted only some
  std::vector<ClEvent> begun;       // their events, if the end of the command is polled for

  double estimate = 0;  // nanoseconds
  bool brief = false;   // by its estimate
  bool sure = false;    // brief, by an estimate from a similar amount of work
  std::chrono::steady_clock::time_point started;

  ClientLine* line = nullptr;        // of its client
  Command* next_in_line = nullptr;   // there, or among the doomed
  Command* device_before = nullptr;  // while running: list in the order of enqueueing
  Command* device_after = nullptr;
  Command* next_polled = nullptr;
  Command* next_completed = nullptr;
  cl_int completion = CL_COMPLETE;
  Ended early;  // a failure reported before the command has left the order
  Ended lost;   // device loss, reported to `end_listeners`
  Ended last;
};

using CommandPtr = std::shared_ptr<Command>;

// The commands of one client. Turns alternate between lines.
struct ClientLine {
  size_t pending = 0;  // ready or not
  Chain<Command, &Command::next_in_line> ready;
  ClientLine* next_turn = nullptr;
};

}  // namespace dala
