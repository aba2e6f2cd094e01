// Entry point of the native tests. The same executable runs several times with different settings
// in its environment, so it first prints the current ones.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>
#include <iostream>
#include <optional>

#include "support/device_limits.hpp"
#include "support/engine_fixture.hpp"

int main(int argc, char** argv) {
  for (const char* name : {"DALA_GPU_DEVICE", "DALA_GPU_DEVICE_CLASS", "DALA_GPU_ZERO_COPY",
                           "DALA_TEST_QUICK", "DALA_TEST_ALL", "DALA_TEST_LIMITS"}) {
    if (const char* value = std::getenv(name)) std::cout << name << '=' << value << '\n';
  }
  std::cout.flush();

  // Limits of a smaller device, see support/device_limits.hpp, and a folder for the programs it
  // builds.
  std::optional<dala::test::ImposedLimits> imposed;
  if (const char* limits = std::getenv("DALA_TEST_LIMITS")) {
    imposed.emplace(dala::test::limits_of(limits));
  }
  if (const char* folder = std::getenv("DALA_TEST_PROGRAMS")) dala::test::collect_programs(folder);

  doctest::Context context;
  context.applyCommandLine(argc, argv);
  const int status = context.run();
  dala::test::engine_of_process().reset();
  return status;
}
