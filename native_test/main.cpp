// Entry of the native tests. The same executable runs several times with other
// settings in its environment, so it says first which ones it runs with.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>
#include <iostream>

#include "support/engine_fixture.hpp"

int main(int argc, char** argv) {
  for (const char* name : {"DALA_GPU_DEVICE", "DALA_GPU_DEVICE_CLASS", "DALA_GPU_ZERO_COPY",
                           "DALA_TEST_QUICK", "DALA_TEST_ALL"}) {
    if (const char* value = std::getenv(name)) std::cout << name << '=' << value << '\n';
  }
  std::cout.flush();

  doctest::Context context;
  context.applyCommandLine(argc, argv);
  const int status = context.run();
  dala::test::engine_of_process().reset();
  return status;
}
