#include "runtime/worker.hpp"

#include <pthread.h>

#include <utility>

#include "runtime/signals.hpp"

namespace dala {

Worker::Worker(std::string name, int threads) : name_(std::move(name)) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

void Worker::post(std::function<void()> job) {
  {
    std::lock_guard lock(mutex_);
    if (abandoned_) return;
    if (!stopping_) {
      jobs_.push_back(std::move(job));
      wake_.notify_one();
      return;
    }
  }
  job();
}

void Worker::abandon() noexcept {
  {
    std::lock_guard lock(mutex_);
    abandoned_ = true;
    jobs_.clear();
  }
  stop();
}

void Worker::stop() noexcept {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Worker::work() {
  // Threads that a driver starts inherit this mask, so the host's signals keep going to the host.
  block_asynchronous_signals();
#if defined(__linux__)
  pthread_setname_np(pthread_self(), name_.c_str());
#endif
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    job = nullptr;  // what it captured is released before the lock is taken
    lock.lock();
  }
}

}  // namespace dala
