// The scheduler's lock; for the scheduler's own files only.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "runtime/schedule/scheduler.hpp"

namespace dala {

// Holds the scheduler's lock. Its release processes completions that arrived meanwhile, dispatches
// ready commands, and calls listeners once the lock is released. The lock must not be taken in any
// other way: a callback that finds it taken relies on the holder doing this. Nothing but
// dispatching allocates, and a command whose dispatch runs out of memory fails.
class Scheduler::Lock {
 public:
  explicit Lock(Scheduler& scheduler) : scheduler_(scheduler), lock_(scheduler.mutex_) {
    holder() = &scheduler_;
  }
  Lock(Scheduler& scheduler, std::try_to_lock_t tag)
      : scheduler_(scheduler), lock_(scheduler.mutex_, tag) {
    if (lock_) holder() = &scheduler_;
  }
  ~Lock() {
    for (int round = 1; lock_; ++round) {
      if (!scheduler_.polled_.empty()) scheduler_.poll_events();
      Chain<Command, &Command::next_completed> completions;
      {
        std::lock_guard lock(scheduler_.completion_mutex_);
        completions = scheduler_.completions_.take();
        scheduler_.has_completions_.store(false);
      }
      while (Command* command = completions.pop()) {
        scheduler_.finish(command->shared_from_this(), command->completion);
      }
      scheduler_.dispatch();
      // Commands may end as fast as this loop starts others.
      if (round == kRounds) scheduler_.go_on_elsewhere();
      Chain<Ended, &Ended::next> ended = scheduler_.ended_.take();
      auto here = scheduler_.here_.take();
      const bool tell_lost = std::exchange(scheduler_.tell_lost_, false);
      holder() = nullptr;
      lock_.unlock();

      // `lost_` is immutable once set.
      try {
        if (tell_lost && scheduler_.on_lost_) scheduler_.on_lost_(*scheduler_.lost_);
      } catch (...) {
        // Out of memory for the message; every later call still gets the error.
      }

      while (Ended* each = ended.pop()) scheduler_.tell(*each);
      while (Command* command = here.pop()) {
        // The last round must not leave work that only another round would see.
        scheduler_.run_here(*command, round < kRounds);
      }
      // A completion that came after the swap found the lock taken and left; whoever sees it after
      // unlocking processes it.
      if (round == kRounds || !scheduler_.has_completions_.load() || !lock_.try_lock()) return;
      holder() = &scheduler_;
    }
  }

  // The scheduler whose lock this thread holds, if any.
  static const Scheduler*& holder() {
    thread_local const Scheduler* held = nullptr;
    return held;
  }

 private:
  static constexpr int kRounds = 4;

  Scheduler& scheduler_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace dala
