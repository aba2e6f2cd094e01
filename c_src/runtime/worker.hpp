// Threads for what must not run on a caller's thread: compiling programs, calls into libraries
// that compile, giving memory back to the driver.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace dala {

class Worker {
 public:
  Worker(std::string name, int threads);
  ~Worker() { stop(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Runs the job on one of the threads, in order of posting; after `stop`, on the caller's.
  // A job must not throw.
  void post(std::function<void()> job);

  // As stop, but what has not begun is dropped, now and later.
  void abandon() noexcept;

  // Finishes what was posted and joins the threads. Twice is fine; not from a job.
  void stop() noexcept;

 private:
  void work();

  const std::string name_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool stopping_ = false;
  bool abandoned_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace dala
