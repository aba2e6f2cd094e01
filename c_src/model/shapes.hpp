// Shapes while a graph is planned: broadcasting, axes, and walks over several tensors at once.
#pragma once

#include <vector>

#include "model/layouts.hpp"
#include "runtime/tensor_type.hpp"

namespace dala::model {

// The shape that all of these broadcast to. Throws `shape_mismatch`.
Shape broadcast_shape(const std::vector<Shape>& shapes);

// A negative axis counts from the end. Throws `shape_mismatch` when there is no such axis.
int64_t normal_axis(int64_t axis, int64_t rank);
// Several, sorted; equal ones are `shape_mismatch`. None at all: every axis.
std::vector<int64_t> normal_axes(const std::vector<int64_t>& axes, int64_t rank);

// Product of the dimensions in [from, to).
int64_t extent(const Shape& shape, int64_t from, int64_t to);

// A walk over `dims` (outermost first) with the strides of up to three inputs and the output.
struct WalkOperand {
  Shape strides;
  int64_t offset = 0;
};
Walk make_walk(const Shape& dims, const std::vector<WalkOperand>& inputs,
               const WalkOperand& output);
// Strides under which a shape broadcasts to another.
Shape broadcast_strides(const Shape& shape, const Shape& to);

}  // namespace dala::model
