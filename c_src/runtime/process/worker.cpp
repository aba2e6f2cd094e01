#include "runtime/process/worker.hpp"

#include <pthread.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "runtime/process/signals.hpp"

namespace dala {

Worker::Worker(std::string name, size_t threads, size_t most)
    : name_(std::move(name)), most_(std::max(threads, most)) {
  threads_.reserve(most_);
  try {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < threads; ++i) start_one();
  } catch (...) {
    stop();
    throw;
  }
}

void Worker::post(std::function<void()> job) {
  {
    std::lock_guard lock(mutex_);
    if (abandoned_) return;
    if (!stopping_) {
      if (at_work_ + jobs_.size() >= threads_.size() && threads_.size() < most_) start_another();
      jobs_.push_back(std::move(job));
      wake_.notify_one();
      return;
    }
  }
  job();
}

void Worker::start_one() {
  threads_.emplace_back([this] { work(); });
  ++working_;
}

// The lock is held. Failing to start a thread is an error only if there is none yet.
void Worker::start_another() {
  try {
    start_one();
  } catch (const std::exception&) {
    if (threads_.empty()) throw;
  }
}

bool Worker::abandon(std::chrono::milliseconds limit) noexcept {
  {
    std::unique_lock lock(mutex_);
    abandoned_ = true;
    stopping_ = true;
    jobs_.clear();
    wake_.notify_all();
    // A driver that calls exit() does so on the thread that called it.
    for (const std::thread& thread : threads_) {
      if (thread.get_id() == std::this_thread::get_id()) return false;
    }
    if (!ended_.wait_for(lock, limit, [this] { return working_ == 0; })) return false;
  }
  stop();
  return true;
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
  // Threads that a driver starts inherit the mask, so the host's signals keep going to the host.
  block_asynchronous_signals();
#if defined(__linux__)
  pthread_setname_np(pthread_self(), name_.c_str());
#endif
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) break;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    ++at_work_;
    lock.unlock();
    try {
      job();
    } catch (...) {
      // Jobs handle their own failures; this one failed to. The worker goes on.
    }
    job = nullptr;  // destroys its captures before the lock is taken
    lock.lock();
    --at_work_;
  }
  --working_;
  ended_.notify_all();
}

}  // namespace dala
