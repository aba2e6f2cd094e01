// The subject of a kernel's table-driven test: the calls to try, and an independent computation of
// their results. Every registered kernel must have a subject.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernels/descriptor.hpp"
#include "support/engine_fixture.hpp"
#include "support/host_tensor.hpp"

namespace dala::test {

struct Case {
  std::vector<TensorType> inputs;
  TensorType output;
  Params params = {};
};

struct Subject {
  // Calls with inputs of that element type.
  std::function<std::vector<Case>(DType)> cases;
  // The expected output.
  std::function<Tensor(const Case&, const std::vector<Tensor>&)> expected;
  // The tolerance, relative to the scale of each element; 0 is exact.
  long double f32_tolerance = 0;
  long double f64_tolerance = 0;
  // The tolerance of integers, in steps of 1: for pictures, whose arithmetic is not exact.
  int64_t levels = 0;
  // Adapts the random inputs of a case, for kernels with preconditions.
  std::function<void(const Case&, std::vector<Tensor>&)> prepare = {};
};

inline std::map<std::string, Subject>& subjects() {
  static std::map<std::string, Subject> all;
  return all;
}

struct SubjectOf {
  SubjectOf(const std::string& kernel, Subject subject) { subjects()[kernel] = std::move(subject); }
};

}  // namespace dala::test
