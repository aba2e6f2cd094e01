// A thread that calls a function periodically on demand, for conditions without an event: the time
// a command has been in flight, events of drivers that refuse a callback.
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
  // or zero to sleep again; it must not throw. To be called once. Throws std::system_error if no
  // thread can be started.
  void start(std::function<std::chrono::milliseconds()> call);

  // Schedules a call of the function.
  void wake() noexcept;

  // Joins the thread; must not be called from `call`.
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
