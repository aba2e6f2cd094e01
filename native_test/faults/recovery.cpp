#include "faults/recovery.hpp"

#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>

namespace dala::test {
namespace {

uint64_t bytes_in_use() { return engine().runtime().memory().info().in_use; }

}  // namespace

Config config_with(bool zero_copy) {
  Config config = with_environment(Config{});
  config.zero_copy = zero_copy;
  return config;
}

void run_faulted(const Part& part) {
  try {
    part.run();
  } catch (const Error& error) {
    CHECK(error.message != "");
  } catch (const std::bad_alloc&) {
    // The NIF boundary turns it into `out_of_memory`.
  }
}

bool all_given_back() {
  // Waits until nothing is in flight.
  engine().runtime().scheduler().alone([] {});
  // Memory is released after a command has ended, on whichever thread ended it.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (bytes_in_use() != 0 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  return bytes_in_use() == 0;
}

void check_recovered(const Part& part) {
  CHECK(all_given_back());
  CHECK_NOTHROW(part.run());
  CHECK(all_given_back());
}

bool thorough() {
  const char* value = std::getenv("DALA_TEST_FAULTS");
  return value != nullptr && std::string(value) == "all";
}

std::vector<long> some_of(long count, long few) {
  std::vector<long> chosen;
  if (thorough() || count <= few) {
    for (long i = 1; i <= count; ++i) chosen.push_back(i);
    return chosen;
  }
  const long first = few / 2;
  for (long i = 1; i <= first; ++i) chosen.push_back(i);
  for (long i = 1; i <= few - first; ++i) {
    chosen.push_back(first + i * (count - first) / (few - first));
  }
  return chosen;
}

}  // namespace dala::test
