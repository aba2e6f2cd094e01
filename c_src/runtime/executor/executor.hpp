// Threads that execute commands on a CPU device, one per compute unit, in place of the driver's. A
// command is a CpuRun; all threads work on it together. An idle thread spins for a moment, since
// the next command or step is usually near, and then sleeps.
//
// Ownership: the executor holds runs by shared pointers, which also keep them for threads that
// notice their completion late. A run's memory belongs to its command, which stays alive until the
// run's completion has been reported.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/executor/cpu_run.hpp"

namespace dala {

class Executor {
 public:
  // Called once per run, by the thread that completes it. Must not throw.
  using Completed = std::function<void(CpuRun& run)>;

  // `local_memory` is the device's limit for a kernel's local arguments, in bytes.
  Executor(size_t threads, size_t local_memory, bool pin_threads, Completed completed);
  ~Executor() { stop(); }
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  size_t threads() const { return threads_.size(); }
  // See CpuRun::of.
  std::shared_ptr<CpuRun> prepare(const std::vector<BoundStage>& parts, Command* command) const;

  // Queues the run. Brief runs go before the others.
  void post(std::shared_ptr<CpuRun> run, bool brief);
  // Executes the run on the calling thread and returns when it is complete, without calling
  // `Completed`. Returns false if no local memory is free for the caller.
  bool run_here(CpuRun& run);

  // Finishes the queued runs and joins the threads. Idempotent.
  void stop() noexcept;

 private:
  void work(size_t index) noexcept;
  std::shared_ptr<CpuRun> pick(bool long_ones_first);
  void help(const std::shared_ptr<CpuRun>& run, std::byte* local);
  void remove(const CpuRun& run);
  bool stay_awake(uint32_t seen) const;
  void sleep(uint32_t seen);
  void wake(bool all);

  const size_t local_memory_;
  const Completed completed_;
  std::vector<LocalMemoryOfThread> local_;  // one for each thread

  std::mutex mutex_;
  std::deque<std::shared_ptr<CpuRun>> brief_;
  std::deque<std::shared_ptr<CpuRun>> long_;
  std::vector<LocalMemoryOfThread> spare_;  // for calling threads

  // Incremented by every event that a thread without work must not miss.
  alignas(64) std::atomic<uint32_t> signal_{0};
  std::atomic<uint32_t> sleeping_{0};
  std::atomic<bool> stopping_{false};
  std::vector<int> ids_;
  std::vector<std::thread> threads_;
};

}  // namespace dala
