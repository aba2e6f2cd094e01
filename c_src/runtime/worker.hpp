// Threads for what must not run on a caller's thread: compiling programs, calls into libraries
// that compile, giving memory back to the driver.
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
  // Starts with `threads`, and with more, up to `most`, when all of them are at work.
  Worker(std::string name, size_t threads, size_t most = 0);
  ~Worker() { stop(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Runs the job on one of the threads, in order of posting; after `stop`, on the caller's.
  // A job must not throw.
  void post(std::function<void()> job);

  // For an exit handler: drops what has not begun, now and later, and waits for what has, but not
  // for ever, and not on one of these threads. Whether all of them have ended.
  bool abandon(std::chrono::milliseconds limit = std::chrono::seconds(30)) noexcept;

  // Finishes what was posted and joins the threads. Twice is fine; not from a job.
  void stop() noexcept;

 private:
  void work();
  void start_one();  // with the lock held, as the next one
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
  size_t working_ = 0;  // threads that have not ended
  std::vector<std::thread> threads_;
};

}  // namespace dala
