#include "runtime/device/thread_placement.hpp"

#include <doctest/doctest.h>

#if defined(__linux__)

#include <sched.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <thread>

#include "runtime/process/worker.hpp"

using namespace dala;

namespace {

cpu_set_t mask_of(int thread) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CHECK(sched_getaffinity(thread, sizeof(mask), &mask) == 0);
  return mask;
}

}  // namespace

TEST_CASE("each thread gets a CPU of its own, among those the process may use") {
  cpu_set_t allowed = mask_of(getpid());
  const int cpus = CPU_COUNT(&allowed);
  std::thread([] {}).join();  // a sanitizer starts a thread of its own with the first of a process
  std::unique_ptr<Worker> worker;
  const std::vector<int> started =
      threads_started_by([&] { worker = std::make_unique<Worker>("test_place", cpus); });
  REQUIRE(static_cast<int>(started.size()) == cpus);
  spread_over_cpus(started);
  std::set<int> taken;
  for (int thread : started) {
    cpu_set_t mask = mask_of(thread);
    REQUIRE(CPU_COUNT(&mask) == 1);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &mask)) continue;
      CHECK(CPU_ISSET(cpu, &allowed));
      taken.insert(cpu);
    }
  }
  CHECK(static_cast<int>(taken.size()) == cpus);
}

TEST_CASE("more threads than CPUs are left alone") {
  cpu_set_t allowed = mask_of(getpid());
  std::unique_ptr<Worker> worker;
  const std::vector<int> started = threads_started_by(
      [&] { worker = std::make_unique<Worker>("test_place", CPU_COUNT(&allowed) + 1); });
  spread_over_cpus(started);
  cpu_set_t mask = mask_of(started.front());
  CHECK(CPU_EQUAL(&mask, &allowed));
}

#endif
