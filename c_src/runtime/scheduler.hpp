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
#include <chrono>
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
#include "runtime/ticker.hpp"
#include "runtime/worker.hpp"

namespace dala {

class KernelStore;
class Reservation;

// `what` names the buffer.
Error freed_error(const std::string& what);
// What a use of a temporary buffer outside of a pipeline comes to.
Error temporary_error(const std::string& what);
// The buffers of a call that is a command of its own. Throws for temporary ones.
std::vector<Use> uses_of_call(const std::vector<BufferPtr>& inputs, const BufferPtr& output);
// The outcome of a command whose client is gone.
Error dropped_error(CommandId id);

// A program that has not been built, or not for such a launch.
struct MissingProgram {
  std::shared_ptr<Program> program;
  std::string entry;
  Range range;
};
std::vector<MissingProgram> missing_programs(const Command& command);

class Scheduler {
 public:
  // Commands of more stages than this take more than a few hundred microseconds to put on the
  // device. Whatever takes a time that grows with their stages happens outside of the lock, and not
  // on a caller's thread.
  static constexpr size_t kLengthy = 64;

  enum class Status { pending, completed, failed };
  struct Outcome {
    Status status = Status::pending;
    std::optional<Error> error;
  };

  // A command that stays on the device for longer than `kernel_timeout` after all those before it
  // have left makes the device lost; zero is no limit. `on_lost` is told once, outside of the lock.
  // Programs that are not ours are built by `builder`. `store` keeps what the driver compiles at
  // launches.
  Scheduler(const Device& device, MemoryPool& memory, Worker& worker, Worker& builder,
            std::chrono::milliseconds kernel_timeout = std::chrono::milliseconds(0),
            std::function<void(const Error&)> on_lost = nullptr,
            std::shared_ptr<KernelStore> store = nullptr);
  ~Scheduler();

  // Accepts no more commands, drops those that have not started and waits for the others. The
  // worker must still be running. On a lost device it does not wait: the caller must then leave
  // the scheduler, the memory and the device in place for ever.
  void stop();
  // The process is about to end: nothing more goes to the device from a thread of this.
  void abandon() { lengthy_.abandon(); }

  // Runs the job on the threads for lengthy commands: submitting one is such a job. Must not throw.
  void post_lengthy(std::function<void()> job) { lengthy_.post(std::move(job)); }

  // Whether nothing is on the device; false where that cannot be told without waiting.
  bool idle();

  // Declares the device unusable. Commands on it keep their memory, since kernels may still be
  // running; every command that is pending fails with this error, and so does every later call.
  void lose_device(const Error& error);
  std::optional<Error> lost();

  // Takes the stages as one command: hazards are entered, outputs get their memory. Throws
  // `freed` or `out_of_memory` before anything has changed. A `profile` counts what it did. `uses`
  // are the buffers that a pipeline names, in the order of its stages, whether or not a launch
  // touches them. A single call that became several stages has them too. With `fills`, the previous
  // content of the outputs is of no use: should the command fail, so does whoever reads them.
  CommandId submit(const std::vector<Stage>& stages, std::shared_ptr<Client> client,
                   Listener listener, std::shared_ptr<Profile> profile = nullptr,
                   const std::vector<Use>& uses = {}, bool fills = false);
  // Takes a command whose stages are not known yet, as of a model that has to be planned first. It
  // is to read these inputs and to write all of the output, and has its place in the order of their
  // commands from now on. Throws as `submit` does.
  std::shared_ptr<Reservation> reserve(const std::vector<BufferPtr>& inputs,
                                       const BufferPtr& output, std::shared_ptr<Client> client,
                                       Listener listener, bool fills = false);
  // An id whose outcome is that error.
  CommandId submit_failure(Error error, const Listener& listener);

  // Whether any command has not ended yet.
  bool pending();

  // Back-pressure: whether very many commands are pending. Whoever submits is then to wait until
  // the listener is told; false: there is room by now.
  bool crowded();
  bool hold_back(Listener listener);

  Outcome poll(CommandId id);
  // As poll; while the command is pending, `listener` will be told. `token` names it.
  // `client` is the key of the process that asks; 0 where there is none.
  Outcome watch(CommandId id, Token token, Listener listener, uint64_t client = 0);
  // The same for a reader of the command's memory: a command that is cancelled has failed at once,
  // but its buffers have their content back only when it leaves the order of commands.
  Outcome watch_end(CommandId id, Listener listener);
  // False: too late, the listener has been told or is about to be.
  bool unwatch(CommandId id, Token token);

  // Takes a command back. Its listeners are told at once; the order of the commands around it
  // stays as it was. Only a command that has not started can be cancelled.
  enum class Cancelled { yes, started, ended, unknown };
  Cancelled cancel(CommandId id);
  // Cancels the commands of a client that was killed, except for those that others listen to.
  // Looks at some of them only, from an id on, so as not to hold the lock for long; gives the id to
  // go on from, or 0 at the end.
  CommandId drop_client(uint64_t client, CommandId from = 0);

  // Runs the work while nothing is on the device: commands wait here until it is done. Not for the
  // worker's thread, which commands may need to end.
  void alone(const std::function<void()>& work);

  // Counts everything that runs from now on, until the profile is let go.
  std::shared_ptr<Profile> start_profile();

  // Buffers, as seen after everything submitted so far.
  bool valid(const Buffer& buffer);
  void free(Buffer& buffer);  // twice is fine
  // Whether the buffer's memory would be given back if the buffer were freed now.
  bool sole_owner(const Buffer& buffer);
  // Puts other memory, of the same size, under the buffer. Commands submitted before keep what
  // they were given. Throws `freed`.
  void replace(Buffer& buffer, StoragePtr storage);
  // The buffer's storage, marked as exported, and its pending writer. Null while a command reads it
  // that is not trusted to leave it as it is. Throws `freed`.
  std::pair<StoragePtr, std::optional<CommandId>> share(const Buffer& buffer);
  // A buffer with the content that this one has after everything submitted so far, whatever is
  // written to this one later. Shares its memory. Throws `freed`, naming the buffer as `what`.
  BufferPtr snapshot(const Buffer& buffer, const std::string& what);
  // The same bytes under another shape or element type of the same size.
  BufferPtr snapshot(const Buffer& buffer, const TensorType& type, const std::string& what);

 private:
  friend class Reservation;
  class Lock;
  using Turns = Chain<ClientLine, &ClientLine::next_turn>;

  static void CL_CALLBACK on_event(cl_event event, cl_int status, void* command);
  void complete(Command& command, cl_int status) noexcept;
  void record(Command& command, cl_int status) noexcept;
  // Until nothing is on the device and the condition, which is looked at with the lock held, is
  // met.
  void wait_until(const std::function<bool()>& condition);
  std::chrono::milliseconds tick() noexcept;

  struct Settlement;
  void submit_here(const CommandPtr& command, const std::vector<Stage>& stages,
                   const std::vector<Use>& uses);
  // False: the buffers have changed meanwhile.
  bool submit_apart(const CommandPtr& command, const std::vector<Stage>& stages,
                    const std::vector<Use>& uses);
  void settle_stages(Command& command, const std::vector<Stage>& stages, Settlement& settlement);
  BoundOutput settle_output(const BufferPtr& buffer, bool in_place, const BoundStage& part,
                            Settlement& settlement);
  CommandPtr new_command(std::shared_ptr<Client> client, Listener listener);
  bool resolve(const CommandPtr& command, const std::vector<Stage>& stages, bool always);
  void tell(Ended& ended) noexcept;

  // Needs no lock while the command's parts are the caller's alone.
  ClEvent refuse(Command& command, std::vector<cl_event> wait_for, bool restore,
                 std::vector<ClEvent>& begun);

  // All of these are called with the lock held. Those that run when it is let go, or for a command
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
  void forget(Command& command) noexcept;
  std::vector<cl_event> pending_events(const Command& command) const;

  const Device& device_;
  MemoryPool& memory_;
  Worker& worker_;
  Worker& builder_;
  const std::shared_ptr<KernelStore> store_;
  Enqueuer enqueuer_;
  const size_t slots_;  // long commands that may be on the device at a time
  const std::chrono::milliseconds kernel_timeout_;
  const std::function<void(const Error&)> on_lost_;

  std::mutex mutex_;  // only ever taken through Lock
  CommandId next_id_ = 1;
  std::map<CommandId, CommandPtr> commands_;  // pending ones
  std::map<CommandId, CommandPtr> failed_;    // the latest failures
  // By the key of the client. A line with ready commands is in one of the turns, next first.
  std::unordered_map<uint64_t, ClientLine> lines_;
  Turns brief_turns_;
  Turns long_turns_;
  // Failed, and ready to pass their place in the order on.
  Chain<Command, &Command::next_in_line> doomed_;
  uint64_t counts_ = 0;
  size_t running_ = 0;
  size_t running_brief_ = 0;
  double running_estimate_ = 0;  // of the brief ones
  std::chrono::steady_clock::time_point last_end_;
  Command* oldest_ = nullptr;  // on the device
  Command* newest_ = nullptr;
  std::chrono::steady_clock::time_point oldest_since_;  // when it became the oldest
  // Commands whose end no callback announces.
  Chain<Command, &Command::next_polled> polled_;
  ErrorPtr lost_;
  bool tell_lost_ = false;  // when the lock is released
  bool stopping_ = false;
  int held_ = 0;          // callers of `alone`
  bool goes_on_ = false;  // a thread for lengthy commands is about to take the lock
  std::vector<std::weak_ptr<Profile>> profiles_;
  Chain<Ended, &Ended::next> ended_;  // to be told when the lock is released

  // Completions come from driver threads, possibly from inside our own enqueue call, so they
  // have a lock of their own and are worked off by whoever holds, or can take, the main one.
  std::mutex completion_mutex_;
  Chain<Command, &Command::next_completed> completions_;
  std::atomic<bool> has_completions_{false};
  std::atomic<int> callbacks_{0};  // threads inside on_event

  // Their threads take the lock, so they are declared last and stopped first.
  Ticker ticker_;
  Worker lengthy_{"dala_lengthy", 2};
};

}  // namespace dala
