// ONNX models for tests, from a writer to results.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "model/model.hpp"
#include "support/engine_fixture.hpp"
#include "support/onnx_writer.hpp"

namespace dala::test {

inline std::shared_ptr<model::Model> load(const OnnxWriter& writer) {
  return model::Model::load(engine(), as_bytes(writer.str()), "");
}

inline std::vector<float> random_floats(size_t count, uint32_t seed, float bound = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> range(-bound, bound);
  std::vector<float> values(count);
  for (float& value : values) value = range(random);
  return values;
}

inline void check_close(const std::vector<float>& got, const std::vector<double>& expected,
                        double tolerance = 1e-5) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(std::fabs(got[i] - expected[i]) <= tolerance * std::max(1.0, std::fabs(expected[i])));
  }
}

}  // namespace dala::test
