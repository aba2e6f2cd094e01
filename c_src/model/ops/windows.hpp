// Windows as ONNX describes them: the attributes that convolutions and pools share.
#pragma once

#include "model/ops/op_call.hpp"

namespace dala::model {

struct WindowAttributes {
  std::vector<int64_t> size;
  std::vector<int64_t> stride;
  std::vector<int64_t> dilation;
  std::vector<int64_t> before;  // padding
  std::vector<int64_t> after;
  std::vector<int64_t> out;  // how many windows there are along each dimension
};

// Throws `shape_mismatch` for dimensions so large that places between them could overflow.
void need_moderate(const Tensor& x);

// For an input {n, c, ...}; `size` is empty where the attribute kernel_shape says. Throws
// `shape_mismatch` where nothing fits.
WindowAttributes window_attributes(const OpCall& call, const Tensor& x, std::vector<int64_t> size,
                                   bool ceil_mode);

// The layout that the general kernels take, with the spatial dimensions of x. Throws
// `unsupported_op` beyond three of them.
Windows windows_of(const Tensor& x, const WindowAttributes& attributes);

// {y, x} and {top, left, bottom, right} as the registry's kernels take them.
std::vector<double> as_numbers(const std::vector<int64_t>& values);
std::vector<double> pads_as_numbers(const WindowAttributes& attributes);

}  // namespace dala::model
