// Orders commands by what they read and write, and lets the rest overlap.
//
// Every Storage knows its last writer and the readers since. A command depends on exactly those,
// so dependent commands run in the order of submission and independent ones as they can. Only a
// few commands are on the device at a time (short ones many, long ones few); the others wait
// here, where clients take turns and where work of a client that is gone can still be dropped.
//
// Nothing here waits for the device: a command's end arrives as an event callback.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "runtime/command.hpp"
#include "runtime/enqueue.hpp"
#include "runtime/profile.hpp"
#include "runtime/worker.hpp"

namespace dala {

// What a use of a temporary buffer outside of a pipeline comes to.
Error temporary_error(const std::string& what);

class Scheduler {
 public:
  enum class Status { pending, completed, failed };
  struct Outcome {
    Status status = Status::pending;
    std::optional<Error> error;
  };

  Scheduler(const Device& device, MemoryPool& memory, Worker& worker);
  ~Scheduler();

  // Takes nothing more, drops what has not started and waits for what has. The worker must still
  // be running.
  void stop();

  // Takes the stages as one command: hazards are entered, outputs get their memory. Throws
  // `freed` or `out_of_memory` before anything has changed. A `profile` counts what it did. `uses`
  // are the buffers that a pipeline needs, in the order of its stages; only with them may stages
  // have temporary buffers. A single call that became several stages has them too.
  CommandId submit(const std::vector<Stage>& stages, std::shared_ptr<Client> client,
                   Listener listener, std::shared_ptr<Profile> profile = nullptr,
                   const std::vector<Use>& uses = {});
  // An id whose outcome is that error.
  CommandId submit_failure(Error error, const Listener& listener);

  // When too many commands are pending: one to wait for before submitting more.
  std::optional<CommandId> backlog();

  Outcome poll(CommandId id);
  // As poll; while the command is pending, `listener` will be told. `token` names it.
  Outcome watch(CommandId id, Token token, Listener listener);
  // False: too late, the listener has been told or is about to be.
  bool unwatch(CommandId id, Token token);

  // Runs the work while nothing is on the device: commands wait here until it is done. Not for the
  // worker's thread, which commands may need to end.
  void alone(const std::function<void()>& work);

  // Counts everything that runs from now on, until the profile is let go.
  std::shared_ptr<Profile> start_profile();

  // Buffers, as seen after everything submitted so far.
  bool valid(const Buffer& buffer);
  void free(Buffer& buffer);  // twice is fine
  // Puts other memory, of the same size, under the buffer. Commands submitted before keep what
  // they were given. Throws `freed`.
  void replace(Buffer& buffer, StoragePtr storage);
  // The buffer's storage, marked as exported, and its pending writer. Throws `freed`.
  std::pair<StoragePtr, std::optional<CommandId>> share(const Buffer& buffer);

 private:
  class Lock;
  struct Ended {
    CommandPtr command;
    std::vector<std::pair<Token, Listener>> listeners;
    std::optional<Error> error;
    std::vector<BoundStage> parts;  // memory is let go outside the lock
  };
  struct Completion {
    Command* command;
    cl_int status;
  };

  static void CL_CALLBACK on_event(cl_event event, cl_int status, void* command);
  void complete(Command* command, cl_int status);
  void drain();
  void wait_until_idle();

  // All of these are called with the lock held.
  void settle(Command& command, const std::vector<Stage>& stages);
  BoundOutput settle_output(const BufferPtr& buffer, const Stage& stage, const BoundStage& part,
                            std::map<Buffer*, StoragePtr>& replaced);
  void enter_hazards(const CommandPtr& command);
  void prepare(const CommandPtr& command);
  void met(const CommandPtr& command);
  bool profiling(const Command& command);
  void dispatch();
  CommandPtr next_ready();
  void line_up(uint64_t key, Command& first);
  bool room_for(const Command& command) const;
  void entered(const Command& command);
  void left(const Command& command);
  void learn_from(const Command& command);
  void start(const CommandPtr& command);
  void started(const CommandPtr& command, ClEvent finished);
  void call_on_worker(const CommandPtr& command);
  void reached_device(Command& command);
  void give_up(const CommandPtr& command, Error error);
  void finish(const CommandPtr& command, cl_int status);
  void remember_failure(CommandId id, const Error& error);
  std::vector<cl_event> pending_events(const Command& command) const;

  const Device& device_;
  MemoryPool& memory_;
  Worker& worker_;
  Enqueuer enqueuer_;
  const size_t slots_;  // long commands that may be on the device at a time

  std::mutex mutex_;  // only ever taken through Lock
  CommandId next_id_ = 1;
  std::map<CommandId, CommandPtr> commands_;  // pending ones
  std::map<CommandId, Error> failed_;         // the latest failures
  // Ready commands by client. Each client that has any is in one of the lines, next in turn first.
  std::unordered_map<uint64_t, std::deque<CommandPtr>> ready_;
  std::deque<uint64_t> brief_turns_;
  std::deque<uint64_t> long_turns_;
  size_t running_ = 0;
  size_t running_brief_ = 0;
  double running_estimate_ = 0;  // of the brief ones
  std::chrono::steady_clock::time_point last_end_;
  bool stopping_ = false;
  int held_ = 0;  // callers of `alone`
  std::vector<std::weak_ptr<Profile>> profiles_;
  std::vector<Ended> ended_;  // to be told when the lock is released

  // Completions come from driver threads, possibly from inside our own enqueue call, so they
  // have a lock of their own and are worked off by whoever holds, or can take, the main one.
  std::mutex completion_mutex_;
  std::vector<Completion> completions_;
  std::atomic<bool> has_completions_{false};
  std::atomic<int> callbacks_{0};  // threads inside on_event
};

}  // namespace dala
