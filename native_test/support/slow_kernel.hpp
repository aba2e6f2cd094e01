// A kernel with an adjustable duration: `rounds` steps of a recurrence in one work-item per
// element, so that one element keeps one core busy.
#pragma once

#include "kernels/custom/custom_kernel.hpp"
#include "support/engine_fixture.hpp"

namespace dala::test {

inline const char* slow_kernel() {
  static const bool registered = [] {
    CustomSource source;
    source.name = "test_slow";
    source.source =
        "__kernel void test_slow(__global const int* x, __global int* output, int rounds) {\n"
        "  int i = get_global_id(0);\n"
        "  uint value = (uint)x[i];\n"
        "  for (int r = 0; r < rounds; ++r) value = value * 1664525u + 1013904223u;\n"
        "  output[i] = (int)value;\n"
        "}\n";
    source.params = {"rounds"};
    engine().registry().add(make_custom_kernel(source, engine().planner()));
    return true;
  }();
  return registered ? "test_slow" : "";
}

inline int32_t slow_result(int32_t x, int rounds) {
  auto value = static_cast<uint32_t>(x);
  for (int r = 0; r < rounds; ++r) value = value * 1664525u + 1013904223u;
  return static_cast<int32_t>(value);
}

inline int64_t slow_rounds(int64_t wanted) { return quick() ? 200 : wanted; }

}  // namespace dala::test
