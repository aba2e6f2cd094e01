#include "runtime/executor/executor.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <latch>

#include "runtime/device/thread_placement.hpp"
#include "runtime/process/signals.hpp"

namespace dala {
namespace {

using Clock = std::chrono::steady_clock;

// How long an idle thread spins before it sleeps. It does not yield: on a busy machine that would
// cost milliseconds, while waking a sleeping thread costs microseconds.
constexpr auto kAwake = std::chrono::microseconds(50);
constexpr int kPollsPerLook = 32;  // between two reads of the clock
constexpr int kLongRunsEvery = 8;  // brief runs are picked first, except every eighth time
constexpr size_t kLocalOfCallers = 64 * 1024;
constexpr size_t kCallers = 4;

void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins until the condition holds, for at most `kAwake`.
template <typename Condition>
bool wait_awake(Condition condition) {
  const auto end = Clock::now() + kAwake;
  do {
    for (int poll = 0; poll < kPollsPerLook; ++poll) {
      if (condition()) return true;
      pause_briefly();
    }
  } while (Clock::now() < end);
  return false;
}

}  // namespace

Executor::Executor(size_t threads, size_t local_memory, bool pin_threads, Completed completed)
    : local_memory_(local_memory), completed_(std::move(completed)) {
  for (size_t i = 0; i < kCallers; ++i) spare_.emplace_back(kLocalOfCallers);
  for (size_t i = 0; i < threads; ++i) local_.emplace_back(local_memory_);
  threads_.reserve(threads);
  try {
    ids_.resize(threads);
    std::latch started(static_cast<std::ptrdiff_t>(threads));
    for (size_t i = 0; i < threads; ++i) {
      threads_.emplace_back([this, i, &started] {
        ids_[i] = this_thread();
        started.count_down();
        work(i);
      });
    }
    started.wait();
    if (pin_threads) spread_over_cpus(ids_);
  } catch (...) {
    stop();
    throw;
  }
}

std::shared_ptr<CpuRun> Executor::prepare(const std::vector<BoundStage>& parts,
                                          Command* command) const {
  std::shared_ptr<CpuRun> run = CpuRun::of(parts, threads_.size(), command);
  return run != nullptr && run->local_bytes() <= local_memory_ ? run : nullptr;
}

void Executor::post(std::shared_ptr<CpuRun> run, bool brief) {
  const bool for_many = run->widest() > 1;
  {
    const std::lock_guard lock(mutex_);
    (brief ? brief_ : long_).push_back(std::move(run));
  }
  wake(for_many);
}

bool Executor::run_here(CpuRun& run) {
  if (run.local_bytes() > kLocalOfCallers) return false;
  std::vector<LocalMemoryOfThread> local;
  if (run.local_bytes() > 0) {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) return false;
    local.push_back(std::move(spare_.back()));
    spare_.pop_back();
  }
  CpuRun::Progress progress;
  while (run.work(local.empty() ? nullptr : local.front().data(), progress)) {
  }
  if (!local.empty()) {
    const std::lock_guard lock(mutex_);
    spare_.push_back(std::move(local.front()));
  }
  return true;
}

void Executor::stop() noexcept {
  stopping_ = true;
  wake(true);
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void Executor::work(size_t index) noexcept {
#if defined(__linux__)
  pthread_setname_np(pthread_self(), "dala_cpu");
#endif
  block_asynchronous_signals();
  std::byte* local = local_[index].data();
  for (int turn = 0;; ++turn) {
    const uint32_t seen = signal_.load();
    if (const auto run = pick(turn % kLongRunsEvery == 0)) {
      help(run, local);
      continue;
    }
    if (stopping_) return;
    if (!stay_awake(seen)) sleep(seen);
  }
}

// The first run that has work for another thread.
std::shared_ptr<CpuRun> Executor::pick(bool long_ones_first) {
  const std::lock_guard lock(mutex_);
  for (const auto* runs :
       {long_ones_first ? &long_ : &brief_, long_ones_first ? &brief_ : &long_}) {
    for (const auto& run : *runs) {
      if (run->has_work()) return run;
    }
  }
  return nullptr;
}

// Works on the run until it is complete, has had no work for this thread for some time, or another
// run has been posted.
void Executor::help(const std::shared_ptr<CpuRun>& run, std::byte* local) {
  const uint32_t seen = signal_.load(std::memory_order_relaxed);
  for (;;) {
    CpuRun::Progress progress;
    while (run->work(local, progress)) {
      if (progress.completed) {
        remove(*run);
        completed_(*run);
        return;
      }
      if (progress.opened) {
        // Pairs with `sleep`: either this thread sees the sleeper, or the sleeper the new step.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (sleeping_.load(std::memory_order_relaxed) > 0) wake(true);
        progress.opened = false;
      }
      if (signal_.load(std::memory_order_relaxed) != seen) return;
    }
    const bool goes_on = wait_awake([&] {
      return run->has_work() || run->complete() || signal_.load(std::memory_order_relaxed) != seen;
    });
    if (!goes_on || !run->has_work()) return;
  }
}

void Executor::remove(const CpuRun& run) {
  const std::lock_guard lock(mutex_);
  for (auto* runs : {&brief_, &long_}) {
    const auto found = std::find_if(runs->begin(), runs->end(),
                                    [&run](const auto& each) { return each.get() == &run; });
    if (found == runs->end()) continue;
    runs->erase(found);
    return;
  }
}

bool Executor::stay_awake(uint32_t seen) const {
  return wait_awake([&] { return signal_.load() != seen || stopping_; });
}

void Executor::sleep(uint32_t seen) {
  sleeping_.fetch_add(1);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  bool idle = true;
  {
    const std::lock_guard lock(mutex_);
    for (const auto* runs : {&brief_, &long_}) {
      for (const auto& run : *runs) idle = idle && !run->has_work();
    }
  }
  if (idle && !stopping_) signal_.wait(seen);
  sleeping_.fetch_sub(1);
}

void Executor::wake(bool all) {
  signal_.fetch_add(1);
  if (all) {
    signal_.notify_all();
  } else {
    signal_.notify_one();
  }
}

}  // namespace dala
