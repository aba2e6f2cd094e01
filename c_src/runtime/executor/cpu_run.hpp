// A command as calls of compiled work-groups, executed by threads of our own. Any number of threads
// can work on a run, and none waits for another: a thread takes the next work-groups of the current
// step, and the thread that completes a step opens the next one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/program/group_function.hpp"
#include "runtime/schedule/command.hpp"

namespace dala {

// Local memory for one thread's work-groups, kept between runs.
class LocalMemoryOfThread {
 public:
  explicit LocalMemoryOfThread(size_t bytes);

  std::byte* data() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte, Free> memory_;
};

class CpuRun {
 public:
  // A run of the parts, which must keep their memory until it is complete; their scratch is already
  // allocated. Null if a part cannot run this way: its group function is not known, it calls a
  // library, or its memory is not host memory. `threads` is the number expected to work on it.
  static std::shared_ptr<CpuRun> of(const std::vector<BoundStage>& parts, size_t threads,
                                    Command* command);

  ~CpuRun();
  CpuRun(const CpuRun&) = delete;
  CpuRun& operator=(const CpuRun&) = delete;

  // Does some work of the current step, using `local_bytes()` of local memory. Returns false if
  // there is none to take, because other threads hold the last work-groups or the run is complete.
  // `opened` is set if this call opened a step with work for several threads, `completed` if it
  // completed the run, which is true for exactly one call of all threads.
  struct Progress {
    bool opened = false;
    bool completed = false;
  };
  bool work(std::byte* local, Progress& progress);

  bool complete() const { return current() == count_; }
  // All earlier steps are complete.
  size_t current() const { return current_.load(std::memory_order_acquire); }
  bool has_work() const;
  // The largest number of work-groups in a step.
  size_t widest() const { return widest_; }
  size_t local_bytes() const { return local_bytes_; }

  Command* command() const { return command_; }

  // Visits each part of a complete run with its duration in nanoseconds, except for parts without
  // work.
  template <typename Visit>
  void each_part(Visit visit) const {
    for (size_t step = 0; step < count_;) {
      const size_t part = part_of(step);
      double took = 0;
      for (; step < count_ && part_of(step) == part; ++step) took += time_of(step);
      visit(part, took);
    }
  }
  // Stores the step times in their parts, for a profile.
  void report(std::vector<BoundStage>& parts) const;

 private:
  struct Step;

  CpuRun(const std::vector<BoundStage>& parts, size_t threads, Command* command);
  bool add_part(const BoundStage& part);
  bool add_step(const dala::Step& step, const BoundStage& part);
  bool add_kernel(const KernelStep& step, const BoundStage& part);
  bool add_move(const std::byte* from, std::byte* to, size_t bytes, const Value* pattern);
  Step& next_step(size_t units);
  size_t part_of(size_t step) const;
  double time_of(size_t step) const;
  void run_groups(const Step& step, size_t begin, size_t end, std::byte* local) const;
  void open_next(size_t step, Progress& progress);

  const size_t threads_;
  Command* const command_;
  const int64_t made_;  // creation time in nanoseconds
  std::unique_ptr<Step[]> steps_;
  std::vector<void*> arguments_;  // of all steps
  size_t arguments_used_ = 0;
  size_t part_ = 0;  // the one being added
  size_t count_ = 0;
  size_t widest_ = 0;
  size_t local_bytes_ = 0;
  alignas(64) std::atomic<size_t> current_{0};
};

}  // namespace dala
