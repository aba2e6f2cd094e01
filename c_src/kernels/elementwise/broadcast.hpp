// NumPy broadcasting, resolved on the host: the strides with which each input is traversed while
// the output is written from its first element to its last.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/descriptor.hpp"
#include "kernels/elementwise/pointwise_args.h"

namespace dala {

inline constexpr int kMaxRank = MAX_RANK;
inline constexpr int kMaxInputs = MAX_INPUTS;

// A traversal of the output's elements: its dimensions, innermost first, and each input's stride in
// each of them. Adjacent dimensions that every input traverses with one stride are merged. There is
// always at least one dimension.
struct Walk {
  int64_t count = 0;
  std::vector<int64_t> dims;
  std::vector<std::vector<int64_t>> strides;
};

// Throws `shape_mismatch` unless every input broadcasts to the output.
void need_broadcast(const std::string& kernel, const Call& call);

// The traversal of inputs that broadcast to an output. Precondition: they do, and the output has
// elements.
Walk broadcast_walk(const std::vector<Shape>& inputs, const Shape& output);
PointwiseLayout broadcast_layout(const std::string& kernel, const std::vector<TensorType>& inputs,
                                 const Shape& output);

// A layout from dimensions and strides, outermost first. Adjacent dimensions that every operand
// traverses with one stride are merged; throws `unsupported` if more than kMaxRank remain.
PointwiseLayout merged_layout(const std::string& kernel, const Shape& dims,
                              const std::vector<Shape>& strides);

// Row-major strides of a shape, in elements.
Shape strides_of(const Shape& shape);

}  // namespace dala
