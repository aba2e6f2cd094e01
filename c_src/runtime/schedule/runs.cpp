// Scheduler: commands on the executor.
#include <chrono>
#include <utility>

#include "runtime/executor/executor.hpp"
#include "runtime/program/program.hpp"
#include "runtime/schedule/scheduler.hpp"
#include "runtime/schedule/settlement.hpp"

namespace dala {
namespace {

// The longest estimate of a command that runs on the submitting thread, in nanoseconds; the second
// applies if it has work for several threads.
constexpr double kAtOnce = 3e4;
constexpr double kAtOnceOfMany = 1e4;

}  // namespace

std::shared_ptr<CpuRun> Scheduler::run_of(Command& command) {
  if (executor_ == nullptr || !command.trusted || command.calls) return nullptr;
  enqueuer_.share_scratch(command.parts);
  std::shared_ptr<CpuRun> run = executor_->prepare(command.parts, &command);
  command.finds = run == nullptr;
  if (run == nullptr) {
    // On the driver's queue, parts may overlap.
    for (BoundStage& part : command.parts) part.scratch.clear();
  }
  return run;
}

// A brief command runs on the thread that holds the lock, once that is released: a hand-over would
// take longer. It may be a scheduler thread, so at most one command runs at a time.
void Scheduler::start_run(const CommandPtr& command, std::shared_ptr<CpuRun> run) noexcept {
  command->state = Command::State::running;
  command->started = std::chrono::steady_clock::now();
  command->run = run;
  entered(*command);
  if (run->complete()) {
    finish(command, CL_COMPLETE);
    return;
  }
  const double limit = run->widest() > 1 ? kAtOnceOfMany : kAtOnce;
  if (command->sure && command->estimate <= limit && here_.empty()) {
    here_.push(*command);
    return;
  }
  try {
    executor_->post(std::move(run), command->brief);
  } catch (...) {
    left(*command);
    command->run.reset();
    command->state = Command::State::ready;
    give_up(command, current_error());
  }
}

// Called without the lock. The command cannot end before its completion is recorded here.
void Scheduler::run_here(Command& command, bool on_this_thread) noexcept {
  const std::shared_ptr<CpuRun> run = command.run;
  try {
    if (on_this_thread && executor_->run_here(*run)) {
      record(command, CL_COMPLETE);
    } else {
      executor_->post(run, true);
    }
  } catch (...) {
    complete(command, CL_OUT_OF_HOST_MEMORY);
  }
}

// Runs on an executor thread; the counterpart of `on_event`.
void Scheduler::on_run(CpuRun& run) noexcept {
  callbacks_.fetch_add(1);
  complete(*run.command(), CL_COMPLETE);
  callbacks_.fetch_sub(1);
}

// Looks up the group functions of kernels that the driver has compiled for this command, so that
// later launches call them directly.
void Scheduler::find_functions(const Command& command) noexcept {
  try {
    std::vector<MissingProgram> launched = launches_if(command, [](const KernelStep& kernel) {
      return !kernel.program->foreign() &&
             !kernel.program->knows_group_function(kernel.entry, kernel.range);
    });
    if (launched.empty()) return;
    worker_.post([launched = std::move(launched)]() noexcept {
      for (const MissingProgram& each : launched) {
        try {
          each.program->find_group_function(each.entry, each.range, true);
        } catch (...) {
          // The kernel stays on the driver's queue.
        }
      }
    });
  } catch (...) {
    // As above.
  }
}

}  // namespace dala
