// The scheduler's other half: from ready to done.
#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/device.hpp"
#include "runtime/program.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/scheduler_lock.hpp"

namespace dala {
namespace {

constexpr size_t kMostRunning = 64;
constexpr double kBrief = 5e5;          // nanoseconds that a command may take to be a brief one
constexpr double kRunningBudget = 2e6;  // nanoseconds of brief commands on the device
constexpr size_t kFailuresKept = 4096;

uint64_t key_of(const Command& command) { return command.client ? command.client->key() : 0; }

Program* first_program(const Command& command) {
  for (const BoundStage& part : command.parts) {
    if (part.launch == nullptr) continue;
    for (const Step& step : part.launch->steps) {
      if (const auto* kernel = std::get_if<KernelStep>(&step)) return kernel->program.get();
    }
  }
  return nullptr;
}

double total_work(const Command& command) {
  double work = 0;
  for (const BoundStage& part : command.parts) {
    if (part.launch != nullptr) work += part.launch->work;
  }
  return work;
}

// How often the parts of a command refer to a storage.
long references(const std::vector<BoundStage>& parts, const StoragePtr& storage) {
  long found = 0;
  for (const BoundStage& part : parts) {
    found += std::count(part.inputs.begin(), part.inputs.end(), storage);
    for (const BoundOutput& output : part.outputs) {
      found += (output.storage == storage ? 1 : 0) + (output.previous == storage ? 1 : 0);
    }
  }
  return found;
}

// What a buffer held before the command: an earlier part may have been the first to put fresh
// memory under it.
StoragePtr content_before(const std::vector<BoundStage>& parts, const BoundOutput& output) {
  StoragePtr content = output.previous;
  for (size_t i = parts.size(); i-- > 0;) {
    for (const BoundOutput& earlier : parts[i].outputs) {
      if (earlier.storage == content && earlier.previous != nullptr) content = earlier.previous;
    }
  }
  return content;
}

template <typename Visit>
void each_program(const Command& command, Visit visit) {
  for (const BoundStage& part : command.parts) {
    if (part.launch == nullptr) continue;
    for (const Step& step : part.launch->steps) {
      if (const auto* kernel = std::get_if<KernelStep>(&step)) visit(kernel->program);
    }
  }
}
}  // namespace

// Has the programs built, off this thread, if any is not ready.
void Scheduler::prepare(const CommandPtr& command) {
  std::vector<std::shared_ptr<Program>> missing;
  each_program(*command, [&missing](const std::shared_ptr<Program>& program) {
    if (!program->ready()) missing.push_back(program);
  });
  ++command->unmet;  // for this function, and for the build it may start
  if (missing.empty()) {
    met(command);
    return;
  }
  // The job holds the command, the command its memory; the worker is stopped before the
  // scheduler goes.
  worker_.post([this, command, missing = std::move(missing)] {
    std::optional<Error> failure;
    try {
      for (const auto& program : missing) program->build();
    } catch (const Error& error) {
      failure = error;
    } catch (const std::exception& error) {
      failure = Error(Reason::device_error, error.what());
    }
    Lock lock(*this);
    if (failure && !command->error) command->error = std::move(failure);
    met(command);
  });
}

void Scheduler::met(const CommandPtr& command) {
  if (--command->unmet > 0) return;
  command->state = Command::State::ready;
  const uint64_t key = key_of(*command);
  std::deque<CommandPtr>& queue = ready_[key];
  queue.push_back(command);
  if (queue.size() == 1) line_up(key, *command);
}

// Puts a client in line for its first ready command. Brief commands have a line of their own, or
// they would wait until all long ones before them are done.
void Scheduler::line_up(uint64_t key, Command& first) {
  const Program* program = first_program(first);
  const double work = total_work(first);
  first.estimate = program == nullptr ? 0.25 * work : program->estimate(work);
  first.brief = first.estimate <= kBrief && (program == nullptr || program->measured());
  (first.brief ? brief_turns_ : long_turns_).push_back(key);
}

bool Scheduler::room_for(const Command& command) const {
  if (!command.brief) return running_ - running_brief_ < slots_;
  if (running_brief_ == 0) return true;
  return running_ < kMostRunning && running_estimate_ + command.estimate <= kRunningBudget;
}

CommandPtr Scheduler::next_ready() {
  if (held_ > 0 && !stopping_) return nullptr;
  for (std::deque<uint64_t>* turns : {&brief_turns_, &long_turns_}) {
    if (turns->empty()) continue;
    const uint64_t key = turns->front();
    const auto found = ready_.find(key);
    CommandPtr command = found->second.front();
    if (!command->error && !stopping_ && !room_for(*command)) continue;
    found->second.pop_front();
    turns->pop_front();
    if (found->second.empty()) {
      ready_.erase(found);
    } else {
      line_up(key, *found->second.front());
    }
    return command;
  }
  return nullptr;
}

void Scheduler::entered(const Command& command) {
  ++running_;
  if (!command.brief) return;
  ++running_brief_;
  running_estimate_ += command.estimate;
}

void Scheduler::left(const Command& command) {
  --running_;
  if (!command.brief) return;
  --running_brief_;
  running_estimate_ = running_brief_ == 0 ? 0 : running_estimate_ - command.estimate;
}

// What the device says it took, or else the time it had for this command alone: since it started,
// or since the one before it ended.
void Scheduler::learn_from(const Command& command) {
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::duration<double, std::nano> had = now - std::max(command.started, last_end_);
  last_end_ = now;
  Program* program = first_program(command);
  const double work = total_work(command);
  if (program == nullptr || work <= 0 || command.parts.size() != 1) return;
  const cl_ulong start = event_time(command.finished.get(), CL_PROFILING_COMMAND_START);
  const cl_ulong end = event_time(command.finished.get(), CL_PROFILING_COMMAND_END);
  const double took = end > start ? static_cast<double>(end - start) : had.count();
  program->learn(took, work);
}

bool Scheduler::profiling(const Command& command) {
  std::erase_if(profiles_, [](const auto& watcher) { return watcher.expired(); });
  return !profiles_.empty() || command.profile != nullptr;
}

void Scheduler::dispatch() {
  while (CommandPtr command = next_ready()) {
    if (command->error) {
      give_up(command, *command->error);
    } else if (stopping_ || (command->client && !command->client->alive())) {
      give_up(command, Error(Reason::freed, text("command ", command->id,
                                                 " was dropped: the process that submitted it "
                                                 "has ended")));
    } else if (command->calls) {
      call_on_worker(command);
    } else {
      start(command);
    }
  }
}

std::vector<cl_event> Scheduler::pending_events(const Command& command) const {
  std::vector<cl_event> events;
  for (const CommandPtr& dependency : command.dependencies) {
    if (dependency->state == Command::State::running && dependency->finished) {
      events.push_back(dependency->finished.get());
    }
  }
  return events;
}

void Scheduler::start(const CommandPtr& command) {
  try {
    started(command,
            enqueuer_.enqueue(command->parts, pending_events(*command), profiling(*command)));
  } catch (const Error& error) {
    give_up(command, error);
  } catch (const std::exception& error) {
    give_up(command, Error(Reason::out_of_memory, error.what()));
  }
}

void Scheduler::call_on_worker(const CommandPtr& command) {
  command->state = Command::State::running;
  entered(*command);
  // The job owns references to the events: their commands may end before it runs.
  auto events = std::make_shared<std::vector<ClEvent>>();
  for (cl_event event : pending_events(*command)) {
    cl().clRetainEvent(event);
    events->emplace_back(event);
  }
  worker_.post([this, command, events, keep_events = profiling(*command)] {
    std::vector<cl_event> wait_for;
    for (const ClEvent& event : *events) wait_for.push_back(event.get());
    ClEvent finished;
    std::optional<Error> failure;
    try {
      // `parts` is ours alone while the command runs without an event.
      finished = enqueuer_.enqueue(command->parts, wait_for, keep_events);
    } catch (const Error& error) {
      failure = error;
    } catch (const std::exception& error) {
      failure = Error(Reason::device_error, error.what());
    }
    Lock lock(*this);
    left(*command);
    command->state = Command::State::ready;
    if (failure) {
      give_up(command, std::move(*failure));
    } else {
      started(command, std::move(finished));
    }
  });
}

void Scheduler::started(const CommandPtr& command, ClEvent finished) {
  command->state = Command::State::running;
  command->started = std::chrono::steady_clock::now();
  command->finished = std::move(finished);
  entered(*command);
  reached_device(*command);
  if (!command->finished) {
    finish(command, CL_COMPLETE);
    return;
  }
  if (device_.runs_only_when_awaited()) {
    const cl_event event = command->finished.get();
    const cl_int status = cl().clWaitForEvents(1, &event);
    finish(command, status == CL_SUCCESS ? CL_COMPLETE : status);
    return;
  }
  // From here on the command may end at any time, also inside this call; `commands_` keeps it
  // alive for the callback, which names it by address.
  const cl_int status = cl().clSetEventCallback(command->finished.get(), CL_COMPLETE,
                                                &Scheduler::on_event, command.get());
  if (status != CL_SUCCESS) {
    cl().clFinish(device_.queue());
    finish(command, CL_COMPLETE);
  }
}

// Those that waited for this command to be on the device, or never to get there, may go on.
void Scheduler::reached_device(Command& command) {
  std::vector<CommandPtr> dependents = std::move(command.dependents);
  command.dependents.clear();
  for (const CommandPtr& dependent : dependents) met(dependent);
}

// The command will not run. Buffers that were to get its result in fresh memory keep their old
// content: it is copied, unless nobody can see that memory.
void Scheduler::give_up(const CommandPtr& command, Error error) {
  command->error = std::move(error);
  std::vector<BoundStage> copies;
  if (!stopping_) {
    for (const BoundStage& part : command->parts) {
      for (const BoundOutput& lost : part.outputs) {
        if (lost.previous == nullptr) continue;
        if (lost.storage.use_count() <= references(command->parts, lost.storage)) continue;
        auto launch = std::make_shared<Launch>();
        launch->steps.push_back(CopyStep{input(0), output(), lost.storage->bytes()});
        BoundStage copy;
        copy.launch = std::move(launch);
        copy.inputs.push_back(content_before(command->parts, lost));
        copy.outputs.push_back({lost.storage, nullptr});
        if (!copies.empty()) copy.after.push_back(copies.size() - 1);
        copies.push_back(std::move(copy));
      }
    }
  }
  command->parts = std::move(copies);
  ClEvent finished;
  try {
    finished = enqueuer_.enqueue(command->parts, pending_events(*command), profiling(*command));
  } catch (const std::exception&) {
    // The device refuses even that; the command's error tells.
  }
  started(command, std::move(finished));
}

void Scheduler::finish(const CommandPtr& command, cl_int status) {
  if (status == CL_COMPLETE && !command->error && command->finished) learn_from(*command);
  const auto count_in = [&command](Profile* profile) {
    if (profile == nullptr) return;
    for (const BoundStage& part : command->parts) profile->add(part);
  };
  for (const auto& watcher : profiles_) count_in(watcher.lock().get());
  count_in(std::exchange(command->profile, nullptr).get());
  if (status < 0 && !command->error) {
    command->error = Error(
        Reason::device_error,
        text("the device gave up on the command with ", status_name(status), " (", status, ")"),
        {{"status", int64_t{status}}});
  }
  left(*command);
  command->state = Command::State::done;
  command->finished = ClEvent();
  command->dependencies.clear();
  commands_.erase(command->id);
  if (command->error) remember_failure(command->id, *command->error);
  ended_.push_back(Ended{command, std::move(command->listeners), std::move(command->error),
                         std::move(command->parts)});
  command->listeners.clear();
  command->parts.clear();
}

void Scheduler::remember_failure(CommandId id, const Error& error) {
  failed_.emplace(id, error);
  if (failed_.size() > kFailuresKept) failed_.erase(failed_.begin());
}

// Runs on a thread of the driver, or on ours from inside clSetEventCallback when the event is
// complete already.
// - `data` is a Command that `commands_` owns until `finish`, which only this call can lead to.
// - The scheduler outlives the call: its destructor waits for `callbacks_` to reach zero, and
//   for this command to finish before that.
// - Nothing is thrown into the driver.
void CL_CALLBACK Scheduler::on_event(cl_event, cl_int status, void* data) {
  auto* command = static_cast<Command*>(data);
  Scheduler& scheduler = command->scheduler;
  scheduler.callbacks_.fetch_add(1);
  scheduler.complete(command, status);
  scheduler.callbacks_.fetch_sub(1);
}

void Scheduler::complete(Command* command, cl_int status) {
  {
    std::lock_guard lock(completion_mutex_);
    completions_.push_back({command, status});
    has_completions_.store(true);
  }
  if (Lock::holder() == this) return;  // the lock's holder looks again when it lets go
  drain();
}

void Scheduler::drain() {
  if (has_completions_.load()) Lock lock(*this, std::try_to_lock);
}

}  // namespace dala
