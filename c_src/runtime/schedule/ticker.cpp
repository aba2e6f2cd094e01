#include "runtime/schedule/ticker.hpp"

#include <pthread.h>

#include <utility>

#include "runtime/process/signals.hpp"

namespace dala {

void Ticker::start(std::function<std::chrono::milliseconds()> call) {
  call_ = std::move(call);
  thread_ = std::thread([this] { run(); });
}

void Ticker::wake() noexcept {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  wake_.notify_all();
}

void Ticker::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Ticker::run() {
  block_asynchronous_signals();
#if defined(__linux__)
  pthread_setname_np(pthread_self(), "dala_ticker");
#endif
  std::chrono::milliseconds pause{0};
  const auto due = [this] { return stopping_ || woken_; };
  std::unique_lock lock(mutex_);
  for (;;) {
    if (pause.count() == 0) {
      wake_.wait(lock, due);
    } else {
      wake_.wait_for(lock, pause, due);
    }
    if (stopping_) return;
    woken_ = false;
    lock.unlock();
    pause = call_();
    lock.lock();
  }
}

}  // namespace dala
