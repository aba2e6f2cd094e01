// Orders commands by their hazards, and lets independent ones overlap.
//
// Every Storage knows its last writer and the readers since. A command depends on exactly those, so
// dependent commands run in the order of submission. Only a few commands are in flight at a time
// (many brief ones, few long ones); the others wait here, where turns alternate between clients and
// the commands of a dead client can still be dropped.
//
// Nothing here waits for the device: completion is reported by event callbacks.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "runtime/process/worker.hpp"
#include "runtime/schedule/command.hpp"
#include "runtime/schedule/enqueue.hpp"
#include "runtime/schedule/profile.hpp"
#include "runtime/schedule/ticker.hpp"

namespace dala {

class Executor;
class KernelStore;
class Reservation;

// `what` names the buffer.
Error freed_error(const std::string& what);
// For a temporary buffer used outside of a pipeline.
Error temporary_error(const std::string& what);
// The buffers of a call that is a command by itself. Throws for temporary ones.
std::vector<Use> uses_of_call(const std::vector<BufferPtr>& inputs, const BufferPtr& output);
// For a command whose client is gone.
Error dropped_error(CommandId id);

// A launch for which a program is not ready: it is not built, or lacks what the launch needs.
struct MissingProgram {
  std::shared_ptr<Program> program;
  std::string entry;
  Range range;
};
std::vector<MissingProgram> missing_programs(const Command& command);

class Scheduler {
 public:
  // Commands with more stages than this take more than a few hundred microseconds to enqueue. Work
  // linear in their number of stages is done outside of the lock, and not on a caller's thread.
  static constexpr size_t kLengthy = 64;

  enum class Status { pending, completed, failed };
  struct Outcome {
    Status status = Status::pending;
    std::optional<Error> error;
  };

  // The device is lost if a command stays in flight for longer than `kernel_timeout` after all
  // earlier ones have ended; zero is no limit. `on_lost` is called once, outside of the lock.
  // `builder` builds foreign programs. `store` keeps what the driver compiles at launch.
  Scheduler(const Device& device, MemoryPool& memory, Worker& worker, Worker& builder,
            std::chrono::milliseconds kernel_timeout = std::chrono::milliseconds(0),
            std::function<void(const Error&)> on_lost = nullptr,
            std::shared_ptr<KernelStore> store = nullptr);
  ~Scheduler();

  // Accepts no more commands, drops those that have not started and waits for the others. The
  // worker must still be running. Does not wait for a lost device: the caller must then never
  // destroy the scheduler, the memory and the device.
  void stop();
  // The process is about to end: this scheduler's threads enqueue nothing more.
  void abandon() { lengthy_.abandon(); }

  // Runs the job on a thread for lengthy commands, to submit one for instance. Must not throw.
  void post_lengthy(std::function<void()> job) { lengthy_.post(std::move(job)); }

  // Whether nothing is in flight; false if that cannot be known without waiting.
  bool idle();

  // Declares the device lost. Commands in flight keep their memory, since kernels may still be
  // running; every pending command fails with this error, and so does every later call.
  void lose_device(const Error& error);
  std::optional<Error> lost();

  // Submits the stages as one command: enters its hazards and gives outputs their memory. Throws
  // `freed` or `out_of_memory` before anything has changed. `profile` records this command. `uses`
  // are the buffers that a pipeline's stages, or a call that became several stages, name in order,
  // whether or not a launch uses them. With `fills`, the old content of the outputs is not needed:
  // if the command fails, so do commands that read them.
  CommandId submit(const std::vector<Stage>& stages, std::shared_ptr<Client> client,
                   Listener listener, std::shared_ptr<Profile> profile = nullptr,
                   const std::vector<Use>& uses = {}, bool fills = false);
  // Runs the stages `rounds` times, one after the other, and then the first `rest` of them once
  // more. At the end, the buffers of each pair in `exchanged`, which have the same type, have
  // swapped their memory. A launch that is not in place must not write to its inputs here.
  struct Repetition {
    uint64_t rounds = 1;
    size_t rest = 0;
    std::vector<std::pair<BufferPtr, BufferPtr>> exchanged = {};
  };
  CommandId submit_rounds(const std::vector<Stage>& stages, const Repetition& repetition,
                          std::shared_ptr<Client> client, Listener listener,
                          std::shared_ptr<Profile> profile, const std::vector<Use>& uses);
  // Accepts a command whose stages are not known yet, such as a model that has to be planned first.
  // It reads these inputs and overwrites the output, and has its place in the order of their
  // commands from now on. Throws as `submit` does.
  std::shared_ptr<Reservation> reserve(const std::vector<BufferPtr>& inputs,
                                       const BufferPtr& output, std::shared_ptr<Client> client,
                                       Listener listener, bool fills = false);
  // An id whose outcome is this error.
  CommandId submit_failure(Error error, const Listener& listener);

  bool pending();

  // Back-pressure: whether very many commands are pending. A producer should then wait until the
  // listener is called; false means that there is room by now.
  bool crowded();
  bool hold_back(Listener listener);

  Outcome poll(CommandId id);
  // As `poll`; if the command is pending, `listener` will be called. `token` identifies it.
  // `client` is the key of the calling process, or 0.
  Outcome watch(CommandId id, Token token, Listener listener, uint64_t client = 0);
  // For readers of the command's memory: a cancelled command has failed at once, but its buffers
  // have their old content back only when it leaves the order of commands.
  Outcome watch_end(CommandId id, Listener listener);
  // False if it is too late: the listener has been called, or is about to be.
  bool unwatch(CommandId id, Token token);

  // Cancels a command and calls its listeners at once; the order of the commands around it does not
  // change. A command that has started cannot be cancelled, except between two rounds.
  enum class Cancelled { yes, started, ended, unknown };
  Cancelled cancel(CommandId id);
  // Cancels the commands of a client that was killed, except for those that others listen to.
  // Handles a limited number, from an id on, to bound the time that the lock is held; returns the
  // id to continue from, or 0 at the end.
  CommandId drop_client(uint64_t client, CommandId from = 0);

  // Runs the work while nothing is in flight: commands wait until it is done. Must not be called on
  // the worker's thread, which commands may need to end.
  void alone(const std::function<void()>& work);

  // Records everything that runs from now on, until the profile is released.
  std::shared_ptr<Profile> start_profile();

  // Buffers, in the state after all commands submitted so far.
  bool valid(const Buffer& buffer);
  void free(Buffer& buffer);  // idempotent
  // Whether freeing the buffer now would release its memory.
  bool sole_owner(const Buffer& buffer);
  // Replaces the buffer's storage by one of the same size. Commands submitted before keep the old
  // one. Throws `freed`.
  void replace(Buffer& buffer, StoragePtr storage);
  // The buffer's storage, marked as exported, and its pending writer. Null while an untrusted
  // command reads it, since that may write to it. Throws `freed`.
  std::pair<StoragePtr, std::optional<CommandId>> share(const Buffer& buffer);
  // A buffer that shares this one's memory and keeps the content after all commands submitted so
  // far, whatever is written later. Throws `freed`, naming the buffer as `what`.
  BufferPtr snapshot(const Buffer& buffer, const std::string& what);
  // The same bytes under another shape or element type of the same size.
  BufferPtr snapshot(const Buffer& buffer, const TensorType& type, const std::string& what);

 private:
  friend class Reservation;
  class Lock;
  using Turns = Chain<ClientLine, &ClientLine::next_turn>;

  void run_here(Command& command, bool on_this_thread) noexcept;
  static void CL_CALLBACK on_event(cl_event event, cl_int status, void* command);
  void on_run(CpuRun& run) noexcept;
  void complete(Command& command, cl_int status) noexcept;
  void record(Command& command, cl_int status) noexcept;
  // Waits until nothing is in flight and the condition, which is evaluated with the lock held, is
  // true.
  void wait_until(const std::function<bool()>& condition);
  std::chrono::milliseconds tick() noexcept;

  struct Settlement;
  CommandId accept(const CommandPtr& command, const std::vector<Stage>& stages,
                   const std::vector<Use>& uses);
  void submit_here(const CommandPtr& command, const std::vector<Stage>& stages,
                   const std::vector<Use>& uses);
  // False if the buffers have changed meanwhile.
  bool submit_apart(const CommandPtr& command, const std::vector<Stage>& stages,
                    const std::vector<Use>& uses);
  void settle(Command& command, const std::vector<Stage>& stages, Settlement& settlement);
  void settle_stages(Command& command, const std::vector<Stage>& stages, Settlement& settlement);
  BoundOutput settle_output(const BufferPtr& buffer, bool in_place, const BoundStage& part,
                            Settlement& settlement);
  CommandPtr new_command(std::shared_ptr<Client> client, Listener listener);
  bool resolve(const CommandPtr& command, const std::vector<Stage>& stages, bool always);
  void tell(Ended& ended) noexcept;

  // These need no lock while the caller has exclusive access to the command's parts. The run is
  // null if the command has to go to the driver's queue.
  std::shared_ptr<CpuRun> run_of(Command& command);
  ClEvent refuse(Command& command, std::vector<cl_event> wait_for, bool restore,
                 std::vector<ClEvent>& begun);

  // The lock is held for all of these. Functions that run when it is released, or for a command
  // that was entered, do not throw.
  void require(const std::vector<Use>& uses) const;
  template <typename Uses>
  void enter(const CommandPtr& command, const Settlement& settlement, const Uses& uses);
  template <typename Uses>
  void join(const CommandPtr& command, const Uses& uses);
  template <typename Uses>
  void make_room_for(Command& command, const Uses& uses);
  void read_by(const CommandPtr& command, Storage& storage);
  void written_by(const CommandPtr& command, Storage& storage);
  void depend_on(const CommandPtr& command, const CommandPtr& other);
  void prepare(const CommandPtr& command, std::vector<MissingProgram> missing) noexcept;
  void met(Command& command) noexcept;
  bool profiling(Command& command);
  void dispatch() noexcept;
  void go_on_elsewhere() noexcept;
  CommandPtr next_ready() noexcept;
  void line_up(ClientLine& line) noexcept;
  bool room_for(const Command& command) const;
  void entered(Command& command) noexcept;
  void left(Command& command) noexcept;
  void learn_from(const Command& command) noexcept;
  void start(const CommandPtr& command) noexcept;
  void start_run(const CommandPtr& command, std::shared_ptr<CpuRun> run) noexcept;
  void find_functions(const Command& command) noexcept;
  void started(const CommandPtr& command, ClEvent finished,
               std::vector<ClEvent> others = {}) noexcept;
  static std::optional<cl_int> end_of(const Command& command) noexcept;
  void poll_for_end(Command& command) noexcept;
  void poll_events() noexcept;
  void check_timeout();
  void require_device() const;
  static void require_content(const Storage& storage);
  static ErrorPtr undefined_input(const Command& command) noexcept;
  void start_apart(const CommandPtr& command, ErrorPtr refusal) noexcept;
  void reached_device(Command& command) noexcept;
  void give_up(const CommandPtr& command, ErrorPtr error, std::vector<ClEvent> begun = {}) noexcept;
  void doom(Command& command, ErrorPtr error) noexcept;
  void leave_line(ClientLine& line) noexcept;
  void lose(const Error& error);
  void finish(const CommandPtr& command, cl_int status) noexcept;
  bool next_round(Command& command) noexcept;
  void forget(Command& command) noexcept;
  std::vector<cl_event> pending_events(const Command& command) const;

  const Device& device_;
  MemoryPool& memory_;
  Worker& worker_;
  Worker& builder_;
  const std::shared_ptr<KernelStore> store_;
  Enqueuer enqueuer_;
  std::unique_ptr<Executor> executor_;  // null unless compiled kernels can be called directly
  const size_t slots_;                  // long commands in flight, at most
  const std::chrono::milliseconds kernel_timeout_;
  const std::function<void(const Error&)> on_lost_;

  std::mutex mutex_;  // only ever taken through Lock
  CommandId next_id_ = 1;
  std::map<CommandId, CommandPtr> commands_;  // pending
  std::map<CommandId, CommandPtr> failed_;    // the latest failures
  // By client key. A line with ready commands is in one of the queues of turns.
  std::unordered_map<uint64_t, ClientLine> lines_;
  Turns brief_turns_;
  Turns long_turns_;
  // Failed commands that are ready to release their dependents.
  Chain<Command, &Command::next_in_line> doomed_;
  uint64_t counts_ = 0;
  size_t running_ = 0;
  size_t running_brief_ = 0;
  double running_estimate_ = 0;  // of brief commands
  std::chrono::steady_clock::time_point last_end_;
  Command* oldest_ = nullptr;  // in flight
  Command* newest_ = nullptr;
  std::chrono::steady_clock::time_point oldest_since_;  // when it became the oldest
  // Commands whose end no callback announces.
  Chain<Command, &Command::next_polled> polled_;
  ErrorPtr lost_;
  bool tell_lost_ = false;  // call `on_lost` when the lock is released
  bool stopping_ = false;
  int held_ = 0;          // callers of `alone`
  bool goes_on_ = false;  // a thread for lengthy commands is about to take the lock
  std::vector<std::weak_ptr<Profile>> profiles_;
  Chain<Ended, &Ended::next> ended_;  // reported when the lock is released
  // At most one command, which the holder of the lock executes after releasing it.
  Chain<Command, &Command::next_here> here_;

  // Completions come from driver threads, possibly inside our own enqueue call, so they have a lock
  // of their own, and the holder of the main lock, or whoever can take it, processes them.
  std::mutex completion_mutex_;
  Chain<Command, &Command::next_completed> completions_;
  std::atomic<bool> has_completions_{false};
  std::atomic<int> callbacks_{0};  // threads inside on_event

  // Their threads take the lock, so they are declared last and stopped first.
  Ticker ticker_;
  Worker lengthy_{"dala_lengthy", 2};
};

}  // namespace dala
