// Translates the operators of NHWC formats ({n, height, width, channels}) to nodes of ONNX, which
// is NCHW. Spatial operators are wrapped in transposes, which plans turn into views, so that
// importers need not care about the layout. Constant weights are reordered here.
#pragma once

#include <array>
#include <limits>

#include "model/graph/graph_builder.hpp"

namespace dala::model::channels_last {

TensorId to_planes(GraphBuilder& builder, TensorId x);    // {n, h, w, c} to {n, c, h, w}
TensorId from_planes(GraphBuilder& builder, TensorId x);  // and back

enum class Activation { none, relu, relu6, relu_n1_to_1, relu_0_to_1, tanh, sigmoid };

// The epilogue of an operator: an activation, and a range to which the result is clamped. Quantized
// files cannot represent values outside of that range.
struct Epilogue {
  Activation activation = Activation::none;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};
TensorId with_epilogue(GraphBuilder& builder, TensorId x, const Epilogue& epilogue);

// Each pair is {y, x}. `pads`, {top, left, bottom, right}, replaces SAME (an odd total puts the
// larger part at the end) and VALID (no padding).
struct Window {
  std::array<int64_t, 2> size{1, 1};  // for pools only; a convolution takes it from its weights
  std::array<int64_t, 2> stride{1, 1};
  std::array<int64_t, 2> dilation{1, 1};
  bool same = false;
  std::optional<std::array<int64_t, 4>> pads;
};

// The order of the axes of weights: out, height, width, in (TFLite) or height, width, in, out. For
// transposed convolutions, in and out are those of the forward convolution, so that hwio means
// height, width, out, in, as in TensorFlow.
enum class WeightOrder { ohwi, hwio };

// `bias` may be kNone. With several groups, the weights' input channels are those of one group.
TensorId convolution(GraphBuilder& builder, TensorId x, TensorId weights, WeightOrder order,
                     TensorId bias, const Window& window, int64_t groups, const Epilogue& epilogue);
// The weights must be constants of shape {1, h, w, channels * multiplier} (ohwi) or {h, w,
// channels, multiplier} (hwio).
TensorId depthwise_convolution(GraphBuilder& builder, TensorId x, TensorId weights,
                               WeightOrder order, int64_t multiplier, TensorId bias,
                               const Window& window, const Epilogue& epilogue);
// `size` is {height, width} of the result. If empty, it is the input size times the stride.
TensorId transposed_convolution(GraphBuilder& builder, TensorId x, TensorId weights,
                                WeightOrder order, TensorId bias, std::vector<int64_t> size,
                                const Window& window, const Epilogue& epilogue);

// The window of the dilated convolution that is equivalent to SpaceToBatch, a convolution with
// stride 1 and BatchToSpace. `kernel` and `block` are {y, x}, `pads` and `crops` {top, left,
// bottom, right}; `kernel` is the spatial size of the weights. Returns nullopt if there is no such
// convolution, for example when more is cropped than was padded.
std::optional<Window> dilated(const Window& window, std::array<int64_t, 2> kernel,
                              std::array<int64_t, 2> block, std::array<int64_t, 4> pads,
                              std::array<int64_t, 4> crops);

TensorId max_pool(GraphBuilder& builder, TensorId x, const Window& window,
                  const Epilogue& epilogue);
TensorId average_pool(GraphBuilder& builder, TensorId x, const Window& window,
                      const Epilogue& epilogue);

struct Resize {
  bool bilinear = true;  // otherwise nearest
  bool align_corners = false;
  bool half_pixel_centers = false;
};
TensorId resize(GraphBuilder& builder, TensorId x, TensorId size, const Resize& how);

TensorId depth_to_space(GraphBuilder& builder, TensorId x, int64_t block);
TensorId space_to_depth(GraphBuilder& builder, TensorId x, int64_t block);

}  // namespace dala::model::channels_last
