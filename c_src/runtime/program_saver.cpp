#include "runtime/program_saver.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/program.hpp"
#include "runtime/signals.hpp"

namespace dala {
namespace {

constexpr auto kIdleFor = std::chrono::seconds(1);
constexpr auto kLookEvery = std::chrono::milliseconds(250);

void lower_priority() {
#if defined(__linux__)
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), 19);
  pthread_setname_np(pthread_self(), "dala_saver");
#endif
}

}  // namespace

ProgramSaver::ProgramSaver() : thread_([this] { work(); }) {}

void ProgramSaver::add(const std::shared_ptr<Program>& program) {
  if (!program->wants_saving()) return;
  std::lock_guard lock(mutex_);
  if (std::find(waiting_.begin(), waiting_.end(), program) != waiting_.end()) return;
  waiting_.push_back(program);
  wake_.notify_one();
}

void ProgramSaver::stop() noexcept {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool ProgramSaver::idle() const {
  return Clock::now() - Clock::time_point(Clock::duration(last_activity_.load())) > kIdleFor;
}

// Owns nothing of the scheduler's: `waiting_` keeps the programs alive, `stop` joins before any
// of this goes away, and `save` does not throw for a disk that is full or read-only.
void ProgramSaver::work() {
  block_asynchronous_signals();
  lower_priority();
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (waiting_.empty()) {
      wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      continue;
    }
    if (!idle()) {
      wake_.wait_for(lock, kLookEvery, [this] { return stopping_; });
      continue;
    }
    const std::shared_ptr<Program> program = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    try {
      program->save();
    } catch (const std::exception&) {
      // Only the next start's time is lost.
    }
    lock.lock();
  }
}

}  // namespace dala
