// The window attributes that ONNX convolutions and pools share.
#pragma once

#include "model/ops/op_call.hpp"

namespace dala::model {

struct WindowAttributes {
  std::vector<int64_t> size;
  std::vector<int64_t> stride;
  std::vector<int64_t> dilation;
  std::vector<int64_t> before;  // padding
  std::vector<int64_t> after;
  std::vector<int64_t> out;  // the number of windows along each dimension
};

// Throws `shape_mismatch` for dimensions so large that coordinates could overflow.
void need_moderate(const Tensor& x);

// Reads the attributes for an input {n, c, ...}. If `size` is empty, it is read from kernel_shape.
// Throws `shape_mismatch` if a window does not fit.
WindowAttributes window_attributes(const OpCall& call, const Tensor& x, std::vector<int64_t> size,
                                   bool ceil_mode);

// The argument struct of the general kernels, with the spatial dimensions of x. Throws
// `unsupported_op` for more than three.
Windows windows_of(const Tensor& x, const WindowAttributes& attributes);

// {y, x} and {top, left, bottom, right} as parameters of public kernels.
std::vector<double> as_numbers(const std::vector<int64_t>& values);
std::vector<double> pads_as_numbers(const WindowAttributes& attributes);

}  // namespace dala::model
