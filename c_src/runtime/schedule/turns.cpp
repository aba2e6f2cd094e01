// Scheduler: whose turn it is. Ready commands wait in the lines of their clients; estimates of
// their time decide which of them go to the device next, and how many are in flight at once.
#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/device/device.hpp"
#include "runtime/program/program.hpp"
#include "runtime/schedule/profile.hpp"
#include "runtime/schedule/scheduler.hpp"

namespace dala {
namespace {

constexpr size_t kMostRunning = 64;
constexpr double kBrief = 5e5;          // the longest estimate of a brief command, in nanoseconds
constexpr double kRunningBudget = 2e6;  // nanoseconds of brief commands in flight
constexpr double kCopyRate = 0.25;      // nanoseconds per byte

// The program whose measurements estimate the part's time; null for copies.
Program* program_of(const BoundStage& part) {
  if (part.launch == nullptr) return nullptr;
  for (const Step& step : part.launch->steps) {
    if (const auto* kernel = std::get_if<KernelStep>(&step)) return kernel->program.get();
  }
  return nullptr;
}

// A command's estimated nanoseconds, and whether they come from measurements of its kernels with a
// similar amount of work.
struct Estimate {
  double time = 0;
  bool measured = true;
  bool sure = true;
};

// A lengthy command has too many parts to walk with the lock held, and is never brief.
Estimate estimate_of(const Command& command) {
  if (command.lengthy) return {kCopyRate * command.work, false, false};
  Estimate estimate;
  double launch = 0;
  for (const BoundStage& part : command.parts) {
    if (part.launch == nullptr) continue;
    const double work = part.launch->work;
    const Program* program = program_of(part);
    if (program == nullptr) {
      estimate.time += kCopyRate * work;
      continue;
    }
    launch = std::max(launch, program->launch_time());
    estimate.time += program->time_of(work);
    estimate.measured = estimate.measured && program->measured();
    estimate.sure = estimate.sure && program->measured(work);
  }
  estimate.time += launch;
  return estimate;
}

}  // namespace

void Scheduler::met(Command& command) noexcept {
  if (--command.unmet > 0 || command.state == Command::State::done) return;
  command.state = Command::State::ready;
  if (command.error != nullptr) {
    doomed_.push(command);
    return;
  }
  ClientLine& line = *command.line;
  const bool first = line.ready.empty();
  line.ready.push(command);
  if (first) line_up(line);
}

// Queues a client's line when it has a first ready command. Brief commands have a separate queue,
// or they would wait behind long ones.
void Scheduler::line_up(ClientLine& line) noexcept {
  Command& first = *line.ready.front();
  const Estimate estimate = estimate_of(first);
  first.estimate = estimate.time;
  first.brief = estimate.time <= kBrief && estimate.measured;
  first.sure = first.brief && estimate.sure;
  (first.brief ? brief_turns_ : long_turns_).push(line);
}

bool Scheduler::room_for(const Command& command) const {
  if (!command.brief) return running_ - running_brief_ < slots_;
  if (running_brief_ == 0) return true;
  return running_ < kMostRunning && running_estimate_ + command.estimate <= kRunningBudget;
}

CommandPtr Scheduler::next_ready() noexcept {
  if (held_ > 0 && !stopping_) return nullptr;
  if (Command* command = doomed_.pop()) return command->shared_from_this();
  for (Turns* turns : {&brief_turns_, &long_turns_}) {
    if (turns->empty()) continue;
    ClientLine& line = *turns->front();
    if (!stopping_ && !room_for(*line.ready.front())) continue;
    Command* command = line.ready.pop();
    turns->pop();
    if (!line.ready.empty()) line_up(line);
    return command->shared_from_this();
  }
  return nullptr;
}

void Scheduler::entered(Command& command) noexcept {
  ++running_;
  command.device_before = newest_;
  command.device_after = nullptr;
  (newest_ == nullptr ? oldest_ : newest_->device_after) = &command;
  newest_ = &command;
  if (oldest_ == &command) oldest_since_ = std::chrono::steady_clock::now();
  if (!command.brief) return;
  ++running_brief_;
  running_estimate_ += command.estimate;
}

void Scheduler::left(Command& command) noexcept {
  --running_;
  if (oldest_ == &command) oldest_since_ = std::chrono::steady_clock::now();
  Command* before = std::exchange(command.device_before, nullptr);
  Command* after = std::exchange(command.device_after, nullptr);
  (before == nullptr ? oldest_ : before->device_after) = after;
  (after == nullptr ? newest_ : after->device_before) = before;
  if (!command.brief) return;
  --running_brief_;
  running_estimate_ = running_brief_ == 0 ? 0 : running_estimate_ - command.estimate;
}

// Learns from the device's timestamps, or else from the time since the command started or its
// predecessor ended, whichever is later.
void Scheduler::learn_from(const Command& command) noexcept {
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::duration<double, std::nano> had = now - std::max(command.started, last_end_);
  last_end_ = now;
  if (command.lengthy) return;
  if (command.run != nullptr) {
    command.run->each_part([&command](size_t part, double took) {
      Program* program = program_of(command.parts[part]);
      if (program != nullptr) program->learn(took, command.parts[part].launch->work);
    });
    return;
  }
  if (command.parts.size() != 1) return;
  Program* program = program_of(command.parts.front());
  const double work = command.work;
  if (program == nullptr || work <= 0) return;
  const cl_ulong start = event_time(command.finished.get(), CL_PROFILING_COMMAND_START);
  const cl_ulong end = event_time(command.finished.get(), CL_PROFILING_COMMAND_END);
  const double took = end > start ? static_cast<double>(end - start) : had.count();
  program->learn(took, work);
}

}  // namespace dala
