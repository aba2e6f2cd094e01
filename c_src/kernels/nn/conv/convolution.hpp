// The geometry of a conv2d call, and the steps that implement it. The model planner uses the shape
// of packed weights.
#pragma once

#include <algorithm>

#include "kernels/nn/conv/convolution_args.h"
#include "kernels/nn/conv_nhwc/conv2d_nhwc_args.h"
#include "kernels/nn/nn.hpp"
#include "kernels/nn/window.hpp"
#include "kernels/planner.hpp"

namespace dala {

// The shape into which conv2d_pack packs weights {co, c / groups, kh, kw}, or weights {co, c, 3, 3}
// for Winograd's algorithm.
Shape packed_weights_shape(const Shape& weights, int64_t groups);
Shape winograd_weights_shape(const Shape& weights);

// The products of one sum, and the pixels of an output plane.
inline int64_t products_of(const Convolution& conv) {
  return conv.in_channels * conv.window.size_y * conv.window.size_x;
}
inline int64_t pixels_of(const Convolution& conv) {
  return conv.window.out_height * conv.window.out_width;
}
// One channel per group, in and out; these weights have their own packed order.
inline bool is_depthwise(const Convolution& conv) {
  return conv.in_channels == 1 && conv.out_channels == 1;
}

// Sets the columns of packed weights, which follow from the channels.
void set_columns(Convolution& conv);

// Elements of local memory that a work-group may use, at most `limit` bytes.
inline int64_t local_elements(const Planner& planner, int64_t limit, size_t bytes) {
  const auto room = static_cast<int64_t>(planner.device().info().local_memory);
  return std::min(limit, room) / static_cast<int64_t>(bytes);
}
// Bytes of local memory per work-group that stay in the private cache of a core.
constexpr int64_t kLargePacked = 256 * 1024;

// A number as an argument of the call's element type.
inline Value number_of(const Call& call, double number) {
  return call.output.dtype == DType::f64 ? value(number) : value(static_cast<float>(number));
}

// CPU class: the steps of a call, in either layout.
void plan_nchw(Launch& launch, Planner& planner, const Call& call, const Convolution& conv);
void plan_nhwc(Launch& launch, Planner& planner, const Call& call, const Convolution& conv);
// CPU class: packs all weights, from input 0 to the output.
void plan_pack(Launch& launch, Planner& planner, const Call& call, const Convolution& conv);

// CPU class: how the output channels of a call with packed weights are divided, and the arguments
// that all kernels for the NHWC layout begin with.
Panels panels_of(const PanelShape& shape, const Convolution& conv);
std::vector<Argument> arguments_of(const Call& call, const Convolution& conv, Operand weights,
                                   Value strips);

}  // namespace dala
