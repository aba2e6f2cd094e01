// A command: work in the scheduler's hands, from submission until it is done. The scheduler's
// lock guards everything in here except the id.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/buffer.hpp"
#include "runtime/chain.hpp"
#include "runtime/cl_api.hpp"
#include "runtime/error.hpp"
#include "runtime/launch.hpp"
#include "runtime/storage.hpp"

namespace dala {

class Profile;
class Scheduler;
struct Command;

using CommandId = uint64_t;

// The submitter of a command, as far as the runtime needs to know it. Commands of different
// clients take turns.
class Client {
 public:
  virtual ~Client() = default;
  virtual uint64_t key() const = 0;
  // False: the result is of no use to anyone, so a command that has not started is dropped.
  virtual bool wants_result() const = 0;
  // Some other process is told of the result: the command outlives its client.
  virtual bool shared() const { return false; }
};

// Told once, outside of any lock, when a command ends; `error` is null on success.
using Listener = std::function<void(CommandId id, const Error* error)>;

// Names a listener, for taking it off again.
using Token = uint64_t;

// One launch of a command. Without a launch it is a barrier.
struct Stage {
  std::shared_ptr<const Launch> launch;
  std::vector<BufferPtr> inputs;
  BufferPtr output;                          // may be null: nothing is written
  std::vector<BufferPtr> more_outputs = {};  // of launches that write to several buffers
};

// A buffer that a caller's stage names, whether or not a launch touches it in the end.
struct Use {
  BufferPtr buffer;
  int64_t stage = 0;  // below 0: the command has no stages of the caller's
  int input = -1;     // which one; below 0 it is the output
};

struct BoundOutput {
  StoragePtr storage;
  // Set when the output got fresh memory: what the buffer held before. Copied over when the
  // launch writes only some elements, and when the launch does not happen at all.
  StoragePtr previous;
};

// A stage with its memory settled.
struct BoundStage {
  std::shared_ptr<const Launch> launch;
  std::vector<StoragePtr> inputs;
  std::vector<BoundOutput> outputs;
  std::vector<StoragePtr> scratch;
  // Inputs that binaries show, of launches that are not trusted: the originals, by position. The
  // input itself is a copy, which is made first.
  std::vector<std::pair<size_t, StoragePtr>> originals;
  std::vector<ClEvent> events;  // of its steps, where somebody profiles
  std::vector<size_t> after;    // earlier parts of the same command that must be done before
};

using Listeners = std::vector<std::pair<Token, Listener>>;

// What remains to be done about a command once the scheduler's lock is released: listeners to tell,
// memory to let go. Part of the command, so that an end needs no memory to be told.
struct Ended {
  std::shared_ptr<Command> command;  // that this is part of; set until it is done
  Listeners listeners = {};
  Listeners end_listeners = {};
  ErrorPtr error = nullptr;
  std::vector<BoundStage> parts = {};
  std::vector<BoundStage> refused = {};
  std::vector<std::shared_ptr<Profile>> profiles = {};  // that count the parts
  Ended* next = nullptr;
};

struct ClientLine;

// Once a command is entered, moving it from state to state takes no memory: its places in the
// scheduler's lists are members of it.
struct Command : std::enable_shared_from_this<Command> {
  enum class State {
    waiting,  // for its programs, or for a dependency to reach the device
    ready,    // to go to the device as soon as there is room
    running,  // on the device
    done,
  };

  explicit Command(Scheduler& scheduler) : scheduler(scheduler) {}

  uint64_t client_key() const { return client == nullptr ? 0 : client->key(); }

  Scheduler& scheduler;
  CommandId id = 0;  // set before anyone else sees the command
  State state = State::waiting;
  std::shared_ptr<Client> client;
  std::vector<BoundStage> parts;
  bool calls = false;    // has a CallStep: reaches the device from a worker thread
  bool lengthy = false;  // reaches the device from a thread for such commands
  bool trusted = true;   // as its launches are
  bool fills = false;    // when it fails, the content of its output is undefined
  double work = 0;       // of all parts
  Listeners listeners;
  Listeners end_listeners;                         // told when its memory is settled, too
  bool shared = false;                             // has, or had, a listener beside its client
  std::shared_ptr<Profile> profile;                // that counts this command alone; may be null
  std::vector<std::shared_ptr<Profile>> profiles;  // that count it, from its start on

  int unmet = 0;                                       // why it is still waiting
  std::vector<std::shared_ptr<Command>> dependencies;  // that were not done at submission
  std::vector<std::shared_ptr<Command>> dependents;    // that wait for this to reach the device
  CommandId last_dependent = 0;                        // the latest that depends on this
  uint64_t last_counted = 0;                           // the latest count that this is part of
  ClEvent finished;                                    // while running
  // Set once the outcome is known to be a failure. The listeners may have been told by then, while
  // the command still holds its place in the order of its buffers.
  ErrorPtr error;
  std::vector<BoundStage> refused;  // parts of which the driver took only some
  std::vector<ClEvent> begun;       // of those, where the end of the command is polled for

  double estimate = 0;  // nanoseconds
  bool brief = false;   // by its estimate
  std::chrono::steady_clock::time_point started;

  ClientLine* line = nullptr;        // of its client
  Command* next_in_line = nullptr;   // there, or among the doomed
  Command* device_before = nullptr;  // while running: in the order of reaching the device
  Command* device_after = nullptr;
  Command* next_polled = nullptr;
  Command* next_completed = nullptr;
  cl_int completion = CL_COMPLETE;
  Ended early;  // its failure, told before it has left the order of commands
  Ended lost;   // the loss of the device, told to those that wait for its end
  Ended last;
};

using CommandPtr = std::shared_ptr<Command>;

// The commands of one client. They take turns by lines.
struct ClientLine {
  size_t pending = 0;  // ready or not
  Chain<Command, &Command::next_in_line> ready;
  ClientLine* next_turn = nullptr;
};

}  // namespace dala
