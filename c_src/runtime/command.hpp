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
#include "runtime/cl_api.hpp"
#include "runtime/error.hpp"
#include "runtime/launch.hpp"
#include "runtime/storage.hpp"

namespace dala {

class Profile;
class Scheduler;

using CommandId = uint64_t;

// Who submitted a command, as far as the runtime needs to know: commands of different clients
// take turns, and those of a client that is gone are dropped before they start.
class Client {
 public:
  virtual ~Client() = default;
  virtual uint64_t key() const = 0;
  virtual bool alive() const = 0;
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
  std::vector<ClEvent> events;  // of its steps, where somebody profiles
  std::vector<size_t> after;    // earlier parts of the same command that must be done before
};

struct Command {
  enum class State {
    waiting,  // for its programs, or for a dependency to reach the device
    ready,    // to go to the device as soon as there is room
    running,  // on the device
    done,
  };

  Command(Scheduler& scheduler, CommandId id) : scheduler(scheduler), id(id) {}

  Scheduler& scheduler;
  const CommandId id;
  State state = State::waiting;
  std::shared_ptr<Client> client;
  std::vector<BoundStage> parts;
  bool calls = false;  // has a CallStep: reaches the device from a worker thread
  std::vector<std::pair<Token, Listener>> listeners;
  std::shared_ptr<Profile> profile;  // that counts this command alone; may be null

  int unmet = 0;                                       // why it is still waiting
  std::vector<std::shared_ptr<Command>> dependencies;  // that were not done at submission
  std::vector<std::shared_ptr<Command>> dependents;    // that wait for this to reach the device
  CommandId last_dependent = 0;                        // the latest that depends on this
  ClEvent finished;                                    // while running
  std::optional<Error> error;

  double estimate = 0;  // nanoseconds
  bool brief = false;   // by its estimate
  std::chrono::steady_clock::time_point started;
};

using CommandPtr = std::shared_ptr<Command>;

}  // namespace dala
