#include "runtime/device/thread_placement.hpp"

#if defined(__linux__)

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/process/files.hpp"

namespace dala {
namespace {

std::vector<int> current_threads() {
  std::vector<int> ids;
  for (const std::string& name : names_in("/proc/self/task"))
    ids.push_back(std::atoi(name.c_str()));
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace

std::vector<int> threads_started_by(const std::function<void()>& action) {
  const std::vector<int> before = current_threads();
  action();
  const std::vector<int> after = current_threads();
  std::vector<int> started;
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                      std::back_inserter(started));
  return started;
}

void spread_over_cpus(const std::vector<int>& threads) {
  // The main thread's mask, since the calling thread may be pinned more tightly.
  cpu_set_t allowed;
  if (sched_getaffinity(getpid(), sizeof(allowed), &allowed) != 0) return;
  if (CPU_COUNT(&allowed) < static_cast<int>(threads.size())) return;
  int cpu = -1;
  for (int thread : threads) {
    do {
      ++cpu;
    } while (!CPU_ISSET(cpu, &allowed));
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(thread, sizeof(one), &one);
  }
}

int this_thread() { return static_cast<int>(syscall(SYS_gettid)); }

bool is_this_thread_among(const std::vector<int>& threads) {
  return std::find(threads.begin(), threads.end(), this_thread()) != threads.end();
}

}  // namespace dala

#else

namespace dala {

std::vector<int> threads_started_by(const std::function<void()>& action) {
  action();
  return {};
}

void spread_over_cpus(const std::vector<int>&) {}

int this_thread() { return 0; }

bool is_this_thread_among(const std::vector<int>&) { return false; }

}  // namespace dala

#endif
