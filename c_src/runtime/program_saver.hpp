// Saves compiled programs to disk while nothing else is going on. Asking a driver for a binary
// can make it compile every kernel of the program anew (PoCL: seconds), so this waits for the
// device to be idle, does one program at a time, and does it on a thread of low priority.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace dala {

class Program;

class ProgramSaver {
 public:
  ProgramSaver();
  ~ProgramSaver() { stop(); }
  ProgramSaver(const ProgramSaver&) = delete;
  ProgramSaver& operator=(const ProgramSaver&) = delete;

  // The program is to be saved when there is time. Programs that are on disk are left alone.
  void add(const std::shared_ptr<Program>& program);
  // Something is going on.
  void touch() { last_activity_.store(Clock::now().time_since_epoch().count()); }

  // Joins the thread; a save under way is finished, the others are given up.
  void stop() noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  void work();
  bool idle() const;

  std::atomic<Clock::rep> last_activity_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Program>> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace dala
