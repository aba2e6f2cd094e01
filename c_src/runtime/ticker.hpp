// A thread that calls a function again and again while there is a reason to, for what has no event
// of its own: the time a command has been on the device, events of drivers that refuse a callback.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace dala {

class Ticker {
 public:
  Ticker() = default;
  ~Ticker() { stop(); }
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  // Starts the thread, which sleeps until it is woken. `call` returns the time until the next call,
  // or zero to sleep again; it must not throw. Once. Throws std::system_error when the system has
  // no thread left.
  void start(std::function<std::chrono::milliseconds()> call);

  // Has the function called soon.
  void wake() noexcept;

  // Joins the thread; not from `call`.
  void stop() noexcept;

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::function<std::chrono::milliseconds()> call_;
  bool woken_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace dala
