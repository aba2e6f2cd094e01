// How the scheduler's lock is taken and let go; for the scheduler's own files only.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "runtime/scheduler.hpp"

namespace dala {

// Holds the scheduler's lock. Letting go works off completions that arrived meanwhile, sends
// what is ready to the device, and tells the listeners once the lock is released. There is no
// other way to take the lock: a callback that finds it taken relies on the holder doing this.
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
    while (lock_) {
      std::vector<Completion> completions;
      {
        std::lock_guard lock(scheduler_.completion_mutex_);
        completions.swap(scheduler_.completions_);
        scheduler_.has_completions_.store(false);
      }
      for (const Completion& completion : completions) {
        // The map owns it until `finish` takes it out.
        const CommandPtr command = scheduler_.commands_.at(completion.command->id);
        scheduler_.finish(command, completion.status);
      }
      scheduler_.dispatch();
      std::vector<Ended> ended = std::move(scheduler_.ended_);
      scheduler_.ended_.clear();
      holder() = nullptr;
      lock_.unlock();

      for (Ended& each : ended) {
        each.parts.clear();
        const Error* error = each.error ? &*each.error : nullptr;
        for (auto& [token, listener] : each.listeners) listener(each.command->id, error);
      }
      // A completion that came after the swap found the lock taken and went away; whoever sees
      // it after unlocking takes it on.
      if (!scheduler_.has_completions_.load() || !lock_.try_lock()) return;
      holder() = &scheduler_;
    }
  }

  // The scheduler whose lock this thread holds, if any.
  static const Scheduler*& holder() {
    thread_local const Scheduler* held = nullptr;
    return held;
  }

 private:
  Scheduler& scheduler_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace dala
