// Threads for work that must not run on a caller's thread: compiling programs, library calls that
// compile, releasing memory to the driver.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace dala {

class Worker {
 public:
  // Starts `threads`, and more, up to `most`, while all of them are busy.
  Worker(std::string name, size_t threads, size_t most = 0);
  ~Worker() { stop(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Runs the job on one of the threads, in FIFO order; after `stop`, on the calling thread. A job
  // must not throw.
  void post(std::function<void()> job);

  // For an exit handler: discards queued and future jobs and waits for running ones, at most for
  // `limit` and not if called from one of these threads. Returns whether all threads have ended.
  bool abandon(std::chrono::milliseconds limit = std::chrono::seconds(30)) noexcept;

  // Finishes the queued jobs and joins the threads. Idempotent; must not be called from a job.
  void stop() noexcept;

 private:
  void work();
  void start_one();  // with the lock held
  void start_another();

  const std::string name_;
  const size_t most_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  size_t at_work_ = 0;
  bool stopping_ = false;
  bool abandoned_ = false;
  std::condition_variable ended_;
  size_t working_ = 0;  // threads still running
  std::vector<std::thread> threads_;
};

}  // namespace dala
