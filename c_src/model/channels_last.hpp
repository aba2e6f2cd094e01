// What formats with channels last ({n, height, width, channels}) mean by their operators, as nodes
// of ONNX, which has channels first. Operators on planes are wrapped in transposes; plans turn
// these into views, so importers need not care. Weights that are constants are put in order here.
#pragma once

#include <array>
#include <limits>

#include "model/graph_builder.hpp"

namespace dala::model::channels_last {

TensorId to_planes(GraphBuilder& builder, TensorId x);    // {n, h, w, c} to {n, c, h, w}
TensorId from_planes(GraphBuilder& builder, TensorId x);  // and back

enum class Activation { none, relu, relu6, relu_n1_to_1, relu_0_to_1, tanh, sigmoid };

// What follows on an operator's result: an activation, and a range that its values are kept in,
// as in quantized files, where no others can be expressed.
struct Finish {
  Activation activation = Activation::none;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};
TensorId finished(GraphBuilder& builder, TensorId x, const Finish& finish);

// {y, x} each. `pads`, {top, left, bottom, right}, stand instead of SAME (what is odd goes to the
// end) and of VALID (none).
struct Window {
  std::array<int64_t, 2> size{1, 1};  // of pools; weights have their own
  std::array<int64_t, 2> stride{1, 1};
  std::array<int64_t, 2> dilation{1, 1};
  bool same = false;
  std::optional<std::array<int64_t, 4>> pads;
};

// The order of the axes of weights: out, height, width, in (TFLite) or height, width, in, out. Of
// transposed convolutions, in and out are those of the convolution that is transposed (so that
// hwio means height, width, out, in there, as TensorFlow has it).
enum class WeightOrder { ohwi, hwio };

// `bias` may be kNone. More than one group: weights have the channels of one on the way in.
TensorId convolution(GraphBuilder& builder, TensorId x, TensorId weights, WeightOrder order,
                     TensorId bias, const Window& window, int64_t groups, const Finish& finish);
// Weights, which have to be constants: {1, h, w, channels * multiplier} (ohwi) or {h, w, channels,
// multiplier} (hwio).
TensorId depthwise_convolution(GraphBuilder& builder, TensorId x, TensorId weights,
                               WeightOrder order, int64_t multiplier, TensorId bias,
                               const Window& window, const Finish& finish);
// `size` is {height, width} of the result; empty: that of the input times the stride.
TensorId transposed_convolution(GraphBuilder& builder, TensorId x, TensorId weights,
                                WeightOrder order, TensorId bias, std::vector<int64_t> size,
                                const Window& window, const Finish& finish);

// SpaceToBatch, a convolution with stride 1, BatchToSpace: one convolution whose window has gaps.
// {y, x} and {top, left, bottom, right}; `kernel` is the size of its weights. Nothing: there is no
// such convolution, as when more is cropped than was padded.
std::optional<Window> dilated(const Window& window, std::array<int64_t, 2> kernel,
                              std::array<int64_t, 2> block, std::array<int64_t, 4> pads,
                              std::array<int64_t, 4> crops);

TensorId max_pool(GraphBuilder& builder, TensorId x, const Window& window, const Finish& finish);
TensorId average_pool(GraphBuilder& builder, TensorId x, const Window& window,
                      const Finish& finish);

struct Resize {
  bool bilinear = true;  // else nearest
  bool align_corners = false;
  bool half_pixel_centers = false;
};
TensorId resize(GraphBuilder& builder, TensorId x, TensorId size, const Resize& how);

TensorId depth_to_space(GraphBuilder& builder, TensorId x, int64_t block);
TensorId space_to_depth(GraphBuilder& builder, TensorId x, int64_t block);

}  // namespace dala::model::channels_last
