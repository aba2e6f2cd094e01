// Shape arithmetic for planning: broadcasting, axes, and strided iteration over several tensors.
#pragma once

#include <vector>

#include "model/build/layouts.hpp"
#include "runtime/memory/tensor_type.hpp"

namespace dala::model {

// The common broadcast shape. Throws `shape_mismatch`.
Shape broadcast_shape(const std::vector<Shape>& shapes);

// Makes an axis non-negative. Throws `shape_mismatch` if it is out of range.
int64_t normal_axis(int64_t axis, int64_t rank);
// The same for several axes, sorted. Throws `shape_mismatch` for duplicates. An empty list means
// all axes.
std::vector<int64_t> normal_axes(const std::vector<int64_t>& axes, int64_t rank);

// Product of the dimensions in [from, to).
int64_t extent(const Shape& shape, int64_t from, int64_t to);

// The iteration over `dims` (outermost first) with the strides of up to three inputs and the
// output. Adjacent dimensions are merged where all strides allow it.
struct WalkOperand {
  Shape strides;
  int64_t offset = 0;
};
Walk make_walk(const Shape& dims, const std::vector<WalkOperand>& inputs,
               const WalkOperand& output);
// The strides with which a tensor of `shape` broadcasts to the shape `to`.
Shape broadcast_strides(const Shape& shape, const Shape& to);

}  // namespace dala::model
