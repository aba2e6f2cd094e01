// Every allocation of the library fails once. The outcome is an error or success, nothing leaks,
// and the same work succeeds afterwards.
#include <doctest/doctest.h>

#include "faults/alloc_faults.hpp"
#include "faults/cl_faults.hpp"
#include "faults/recovery.hpp"

namespace dala::test {
namespace {

std::string describe(long nth, const std::string& where) {
  return text("allocation ", nth, " fails in ", where);
}

constexpr long kFewAtWork = 120;  // for each part
constexpr long kFewAtStart = 80;

}  // namespace

TEST_CASE("an allocation that fails while the device works") {
  ClFaults::install();
  for (bool zero_copy : {true, false}) {
    {
      const ScopedEngine scoped(config_with(zero_copy));
      for (const Part& part : parts()) part.run();
      for (const Part& part : parts()) {
        const long count = AllocFaults::count(part.run);
        CHECK(count > 0);
        for (long nth : some_of(count, kFewAtWork)) {
          const std::string what = describe(nth, part.name);
          INFO(what);
          const Watchdog watchdog(what);
          AllocFaults::arm(nth);
          run_faulted(part);
          AllocFaults::disarm();
          check_recovered(part);
        }
      }
    }
    CHECK(ClFaults::live().empty());
  }
}

TEST_CASE("an allocation that fails while a device starts") {
  ClFaults::install();
  const Config config = config_with(true);
  const auto start = [&config] { const ScopedEngine scoped(config); };
  start();
  const long count = AllocFaults::count(start);
  for (long nth : some_of(count, kFewAtStart)) {
    const std::string what = describe(nth, "the start");
    INFO(what);
    const Watchdog watchdog(what);
    AllocFaults::arm(nth);
    try {
      start();
    } catch (const std::exception& error) {
      AllocFaults::disarm();
      CHECK(error.what() != std::string());
    }
    AllocFaults::disarm();
    CHECK(ClFaults::live().empty());
    CHECK_NOTHROW(start());
  }
}

}  // namespace dala::test
