// Broadcasting as in NumPy, worked out on the host: how each input is walked through while the
// output is written from its first element to its last.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/descriptor.hpp"

namespace dala {

inline constexpr int kMaxRank = 8;    // MAX_RANK in pointwise_layout.cl
inline constexpr int kMaxInputs = 4;  // MAX_INPUTS

// A way through the elements of an output: dimensions innermost first, after adjacent ones that
// every input goes through in one stride have been merged; per input its stride in each of them.
// There is always at least one dimension.
struct Walk {
  int64_t count = 0;
  std::vector<int64_t> dims;
  std::vector<std::vector<int64_t>> strides;
};

// The same layout as the struct of that name in pointwise_layout.cl.
struct PointwiseLayout {
  int64_t count = 0;
  int64_t chunk = 0;
  int64_t rank = 1;
  std::array<int64_t, kMaxRank> dims{};
  std::array<std::array<int64_t, kMaxRank>, kMaxInputs> strides{};
};

// Throws `shape_mismatch` unless every input repeats evenly into the output.
void need_broadcast(const std::string& kernel, const Call& call);

// How inputs broadcast to an output of that shape: they fit, and the output has elements.
Walk broadcast_walk(const std::vector<Shape>& inputs, const Shape& output);
PointwiseLayout broadcast_layout(const std::string& kernel, const std::vector<TensorType>& inputs,
                                 const Shape& output);

// A layout from dimensions and strides, outermost first: adjacent dimensions that every operand
// walks through in one stride become one. More than kMaxRank remaining ones are `unsupported`.
PointwiseLayout merged_layout(const std::string& kernel, const Shape& dims,
                              const std::vector<Shape>& strides);

// Row-major strides of a shape, in elements.
Shape strides_of(const Shape& shape);

}  // namespace dala
