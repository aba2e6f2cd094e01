// Scheduler: the way of a command from its turn to its end. turns.cpp decides whose turn it is.
#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/device/device.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/program/kernel_store.hpp"
#include "runtime/program/program.hpp"
#include "runtime/schedule/rounds.hpp"
#include "runtime/schedule/scheduler.hpp"
#include "runtime/schedule/scheduler_lock.hpp"

namespace dala {
namespace {

constexpr int kAtATime = 32;

}  // namespace

// Has missing programs built on another thread.
void Scheduler::prepare(const CommandPtr& command, std::vector<MissingProgram> missing) noexcept {
  ++command->unmet;  // released by this function, or by the build that it starts
  if (missing.empty()) {
    met(*command);
    return;
  }
  const bool foreign = std::any_of(missing.begin(), missing.end(), [](const MissingProgram& each) {
    return each.program->foreign();
  });
  // The job owns the command, which owns its memory; the workers are stopped before the scheduler
  // is destroyed.
  try {
    (foreign ? builder_ : worker_).post([this, command, missing = std::move(missing)]() noexcept {
      ErrorPtr failure;
      try {
        for (const MissingProgram& each : missing) {
          each.program->build_for(each.entry, each.range);
          if (executor_ != nullptr) each.program->find_group_function(each.entry, each.range);
        }
      } catch (...) {
        failure = current_error();
      }
      Lock lock(*this);
      if (command->error == nullptr) command->error = std::move(failure);
      met(*command);
    });
  } catch (...) {
    command->error = current_error();
    met(*command);
  }
}

// Whether a profile includes the command.
bool Scheduler::profiling(Command& command) {
  std::erase_if(profiles_, [](const auto& watcher) { return watcher.expired(); });
  command.profiles.clear();
  if (command.profile != nullptr) command.profiles.push_back(command.profile);
  for (const auto& watcher : profiles_) {
    if (auto profile = watcher.lock()) command.profiles.push_back(std::move(profile));
  }
  return !command.profiles.empty();
}

// Dispatches a few commands at a time: this may be a scheduler thread, others wait for the lock,
// and thousands of dropped commands can become ready at once. Another thread continues with the
// rest.
void Scheduler::dispatch() noexcept {
  for (int started = 0; CommandPtr command = next_ready(); ++started) {
    ErrorPtr refusal = command->error;
    if (refusal == nullptr &&
        (stopping_ || (command->client && !command->client->wants_result()))) {
      refusal = shared_error([&command] { return dropped_error(command->id); });
    }
    if (refusal == nullptr) refusal = undefined_input(*command);
    if (command->lengthy || (command->calls && refusal == nullptr)) {
      start_apart(command, std::move(refusal));
    } else if (refusal != nullptr) {
      give_up(command, std::move(refusal));
    } else {
      start(command);
    }
    if (started == kAtATime) {
      go_on_elsewhere();
      return;
    }
  }
}

void Scheduler::go_on_elsewhere() noexcept {
  if (goes_on_) return;
  goes_on_ = true;
  try {
    lengthy_.post([this] {
      Lock lock(*this);
      goes_on_ = false;
    });
  } catch (const std::exception&) {
    goes_on_ = false;
    ticker_.wake();  // takes the lock itself
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

void Scheduler::start(const CommandPtr& command) noexcept {
  std::vector<ClEvent> begun;
  ClEvent finished;
  try {
    take_round(*command);
    if (auto run = run_of(*command)) {
      profiling(*command);
      start_run(command, std::move(run));
      return;
    }
    finished =
        enqueuer_.enqueue(command->parts, pending_events(*command), profiling(*command), begun);
  } catch (...) {
    give_up(command, current_error(), std::move(begun));
    return;
  }
  started(command, std::move(finished));
}

// Enqueues on a worker thread, without the lock: a CallStep may compile, and many parts take long.
// With a `refusal` the command does not run.
void Scheduler::start_apart(const CommandPtr& command, ErrorPtr refusal) noexcept {
  command->state = Command::State::running;
  entered(*command);
  try {
    // The job owns references to the events, since their commands may end before it runs.
    auto events = std::make_shared<std::vector<ClEvent>>();
    auto wait_for = std::make_shared<std::vector<cl_event>>(pending_events(*command));
    events->reserve(wait_for->size());
    for (cl_event event : *wait_for) events->push_back(retained(event));
    Worker& thread = command->calls ? worker_ : lengthy_;
    thread.post([this, command, events, wait_for, refusal, keep_events = profiling(*command),
                 restore = !stopping_ && lost_ == nullptr]() noexcept {
      ClEvent finished;
      std::vector<ClEvent> begun;
      std::shared_ptr<CpuRun> run;
      ErrorPtr failure = refusal;
      // `parts` belongs to this job while the command runs without an event.
      try {
        if (failure == nullptr) {
          take_round(*command);
          run = run_of(*command);
        }
        if (failure == nullptr && run == nullptr) {
          finished = enqueuer_.enqueue(command->parts, *wait_for, keep_events, begun);
        }
      } catch (...) {
        failure = current_error();
      }
      try {
        if (failure != nullptr) finished = refuse(*command, *wait_for, restore, begun);
      } catch (...) {
        // As in `give_up`.
      }
      Lock lock(*this);
      left(*command);
      command->state = Command::State::ready;
      if (command->error == nullptr) command->error = std::move(failure);
      if (run != nullptr) {
        start_run(command, std::move(run));
      } else {
        started(command, std::move(finished), std::move(begun));
      }
    });
  } catch (...) {
    left(*command);
    command->state = Command::State::ready;
    give_up(command, refusal != nullptr ? std::move(refusal) : current_error());
  }
}

// Reports how a command ended. This may be a scheduler thread, so many listeners or much memory are
// left to another thread.
void Scheduler::tell(Ended& ended) noexcept {
  const auto finish = [](Ended& each) noexcept {
    const CommandPtr command = std::move(each.command);  // `each` is part of it
    try {
      for (const auto& profile : each.profiles) {
        for (const BoundStage& part : each.parts) profile->add(part);
      }
    } catch (const std::exception&) {
      // Out of memory: the profile has a gap.
    }
    each.parts.clear();
    each.refused.clear();
    each.rounds.reset();
    each.profiles.clear();
    for (Listeners* listeners : {&each.listeners, &each.end_listeners}) {
      for (auto& [token, listener] : *listeners) listener(command->id, each.error.get());
      listeners->clear();
    }
  };
  const size_t in_rounds = ended.rounds == nullptr ? 0 : ended.rounds->parts.size();
  const size_t most = std::max({ended.parts.size(), ended.refused.size(), in_rounds,
                                ended.listeners.size(), ended.end_listeners.size()});
  if (most > kLengthy) {
    try {
      lengthy_.post([&ended, finish] { finish(ended); });
      return;
    } catch (const std::exception&) {
      // The job could not be posted: work continues on this thread.
    }
  }
  finish(ended);
}

// The command is done when `finished` is complete or, if the driver gave no such event, when all
// `others` and all earlier commands are.
void Scheduler::started(const CommandPtr& command, ClEvent finished,
                        std::vector<ClEvent> others) noexcept {
  command->state = Command::State::running;
  command->started = std::chrono::steady_clock::now();
  command->finished = std::move(finished);
  command->begun = std::move(others);
  entered(*command);
  if (!command->finished) {
    // Dependents have no event to wait for, so they wait here until the command is done.
    if (end_of(*command)) {
      finish(command, CL_COMPLETE);
    } else {
      poll_for_end(*command);
    }
    return;
  }
  if (executor_ == nullptr && !command->goes_on()) reached_device(*command);
  if (device_.runs_only_when_awaited()) {
    // The simulator only runs commands in a blocking wait; it is used in tests, where a scheduler
    // may block.
    const cl_event event = command->finished.get();
    const cl_int status = cl().clWaitForEvents(1, &event);
    finish(command, status == CL_SUCCESS ? CL_COMPLETE : status);
    return;
  }
  // From here on the command may end at any time, also inside this call. `commands_` keeps it alive
  // for the callback, which has its address.
  const cl_int status = cl().clSetEventCallback(command->finished.get(), CL_COMPLETE,
                                                &Scheduler::on_event, command.get());
  if (status != CL_SUCCESS) poll_for_end(*command);
}

// Releases the commands that waited for this one to be enqueued, or to fail before that.
void Scheduler::reached_device(Command& command) noexcept {
  const std::vector<CommandPtr> dependents = std::move(command.dependents);
  command.dependents.clear();
  for (const CommandPtr& dependent : dependents) met(*dependent);
}

void Scheduler::finish(const CommandPtr& command, cl_int status) noexcept {
  if (status == CL_COMPLETE && command->error == nullptr) {
    if (command->finished || command->run != nullptr) learn_from(*command);
    if (command->run != nullptr && !command->profiles.empty()) {
      try {
        command->run->report(command->parts);
      } catch (const std::exception&) {
        // Out of memory: the profile has a gap.
      }
    }
    if (command->finds && executor_ != nullptr) find_functions(*command);
  }
  if (status < 0 && command->error == nullptr) {
    command->error = shared_error([status] {
      return Error(
          Reason::device_error,
          text("the device failed to run the command: ", status_name(status), " (", status, ")"),
          {{"status", int64_t{status}}});
    });
  }
  left(*command);
  if (next_round(*command)) return;
  reached_device(*command);
  if (store_ != nullptr && store_->has_news()) {
    try {
      worker_.post([store = store_] { store->publish(); });
    } catch (const std::exception&) {
      store_->keep_news();
    }
  }
  command->last.listeners = std::move(command->listeners);
  command->last.end_listeners = std::move(command->end_listeners);
  command->last.profiles = std::move(command->profiles);
  command->run.reset();
  forget(*command);
}

// Runs on a thread of the driver, or on ours from inside clSetEventCallback when the event is
// complete already.
// - `data` is a Command that `commands_` owns until `finish`, which only this call can lead to.
// - The scheduler outlives the call: its destructor waits for `callbacks_` to reach zero, and
//   for this command to finish before that.
// - Nothing is thrown into the driver.
void CL_CALLBACK Scheduler::on_event(cl_event, cl_int status, void* data) {
  auto& command = *static_cast<Command*>(data);
  Scheduler& scheduler = command.scheduler;
  scheduler.callbacks_.fetch_add(1);
  scheduler.complete(command, status);
  scheduler.callbacks_.fetch_sub(1);
}

void Scheduler::complete(Command& command, cl_int status) noexcept {
  record(command, status);
  if (Lock::holder() == this) return;  // the holder checks again before it unlocks
  if (has_completions_.load()) Lock lock(*this, std::try_to_lock);
}

void Scheduler::record(Command& command, cl_int status) noexcept {
  const std::lock_guard lock(completion_mutex_);
  command.completion = status;
  completions_.push(command);
  has_completions_.store(true);
}

}  // namespace dala
