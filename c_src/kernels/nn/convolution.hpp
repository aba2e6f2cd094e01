// A call of conv2d in numbers, and the steps that it becomes. The model planner asks here for the
// shape of packed weights.
#pragma once

#include <algorithm>

#include "kernels/nn/window.hpp"
#include "kernels/planner.hpp"

namespace dala {

// What conv2d_pack makes of weights {co, c / groups, kh, kw}.
Shape packed_weights_shape(const Shape& weights, int64_t groups);

// The same layout as the struct of that name in convolution.cl.
struct Convolution {
  Window window;
  int64_t slices = 0;
  int64_t groups = 1;
  int64_t in_channels = 0;
  int64_t out_channels = 0;
  int64_t has_bias = 0;
  int64_t has_residual = 0;
  int64_t curve = 0;
  int64_t pointwise = 0;
  int64_t nhwc = 0;
  int64_t packed = 0;
  int64_t columns = 0;
  int64_t group_columns = 0;
  int64_t strip_channels = 0;
  int64_t strip_pixels = 0;
  int64_t strips = 0;
  int64_t block = 0;
  int64_t in_place = 0;
  int64_t strip_rows = 0;
  int64_t pitch = 0;
  int64_t flat = 0;
  int64_t units = 0;

  int64_t products() const { return in_channels * window.size_y * window.size_x; }
  int64_t pixels() const { return window.out_height * window.out_width; }
  // One channel per group, in and out: its weights are packed in another way.
  bool depthwise() const { return in_channels == 1 && out_channels == 1; }
};

// Sets what follows from the channels: how packed weights lie.
void set_columns(Convolution& conv);

// Elements of local memory that a work-group may use, within `wish` bytes.
inline int64_t local_elements(const Planner& planner, int64_t wish, size_t bytes) {
  const auto room = static_cast<int64_t>(planner.device().info().local_memory);
  return std::min(wish, room) / static_cast<int64_t>(bytes);
}
// What a work-group may fill of local memory, so that it stays in the cache next to the core.
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

}  // namespace dala
