#include "kernels/warm_up.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "support/engine_fixture.hpp"

using namespace dala;

TEST_CASE("every built-in kernel has a sample for every type it takes") {
  for (const auto& descriptor : test::engine().registry().list()) {
    if (descriptor->custom) continue;
    CAPTURE(descriptor->name);
    for (DType dtype : descriptor->dtypes) {
      CAPTURE(to_string(dtype));
      CHECK(sample_call(*descriptor, dtype).has_value());
    }
  }
}

TEST_CASE("warming up runs each kernel of a type once, and says so") {
  if (test::quick()) return;
  std::vector<std::string> told;
  size_t total = 0;
  warm_up(test::engine(), {DType::u8}, std::nullopt, [&](const WarmUpStep& step) {
    CHECK(step.done == told.size());
    CHECK(step.dtype == DType::u8);
    told.push_back(step.kernel);
    total = step.total;
  });
  CHECK(told.size() == total);
  CHECK(std::find(told.begin(), told.end(), "elementwise_add") != told.end());
  CHECK(std::find(told.begin(), told.end(), "sigmoid") == told.end());
}
