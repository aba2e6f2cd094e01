// What a kernel needs to be tested from the table: calls to try, and an independent computation of
// what they should give. Every registered kernel must have a subject.
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
  // What the output should hold.
  std::function<Tensor(const Case&, const std::vector<Tensor>&)> expected;
  // How far off a result may be, relative to the scale of each element; 0 is exact.
  long double f32_tolerance = 0;
  long double f64_tolerance = 0;
  // The same for integers, in steps of 1: of pictures, whose arithmetic is not exact.
  int64_t levels = 0;
  // Changes the random inputs of a case, for kernels that take not just any.
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
