#include "model/import/common/channels_last.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/graph/problem.hpp"

namespace dala::model::channels_last {
namespace {

std::vector<int64_t> pair(const std::array<int64_t, 2>& values) {
  return {values.begin(), values.end()};
}

Attributes window_attributes(const Window& window) {
  Attributes attributes{{"strides", attr::integers(pair(window.stride))}};
  if (window.pads) {
    attributes["pads"] = attr::integers({window.pads->begin(), window.pads->end()});
  } else {
    attributes["auto_pad"] = attr::text(window.same ? "SAME_UPPER" : "VALID");
  }
  return attributes;
}

Attributes pool_attributes(const Window& window) {
  Attributes attributes = window_attributes(window);
  attributes["kernel_shape"] = attr::integers(pair(window.size));
  return attributes;
}

// An operator in NCHW between two transposes. The epilogue comes before the second transpose, where
// it can be fused into a convolution.
TensorId on_planes(GraphBuilder& builder, const std::string& op, std::vector<TensorId> inputs,
                   Attributes attributes, const Epilogue& epilogue) {
  inputs[0] = to_planes(builder, inputs[0]);
  const TensorId y = builder.add(op, std::move(inputs), std::move(attributes));
  return from_planes(builder, with_epilogue(builder, y, epilogue));
}

std::vector<TensorId> with_bias(TensorId x, TensorId weights, TensorId bias) {
  if (bias == kNone) return {x, weights};
  return {x, weights, bias};
}

}  // namespace

TensorId to_planes(GraphBuilder& builder, TensorId x) { return builder.transpose(x, {0, 3, 1, 2}); }

TensorId from_planes(GraphBuilder& builder, TensorId x) {
  return builder.transpose(x, {0, 2, 3, 1});
}

TensorId with_epilogue(GraphBuilder& builder, TensorId x, const Epilogue& epilogue) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double low = -kInfinity;
  double high = kInfinity;
  switch (epilogue.activation) {
    case Activation::none:
      break;
    case Activation::relu:
      low = 0;
      break;
    case Activation::relu6:
      low = 0;
      high = 6;
      break;
    case Activation::relu_n1_to_1:
      low = -1;
      high = 1;
      break;
    case Activation::relu_0_to_1:
      low = 0;
      high = 1;
      break;
    case Activation::tanh:
      x = builder.add("Tanh", {x});
      break;
    case Activation::sigmoid:
      x = builder.add("Sigmoid", {x});
      break;
  }
  low = std::max(low, epilogue.low);
  high = std::min(high, epilogue.high);
  if (low == 0 && high == kInfinity) return builder.add("Relu", {x});
  if (low == -kInfinity && high == kInfinity) return x;
  const TensorId min = low == -kInfinity ? kNone : builder.scalar(low);
  if (high == kInfinity) return builder.add("Clip", {x, min});
  return builder.add("Clip", {x, min, builder.scalar(high)});
}

TensorId convolution(GraphBuilder& builder, TensorId x, TensorId weights, WeightOrder order,
                     TensorId bias, const Window& window, int64_t groups,
                     const Epilogue& epilogue) {
  const bool out_first = order == WeightOrder::ohwi;
  const TensorId ordered = builder.transpose(
      weights, out_first ? std::vector<int64_t>{0, 3, 1, 2} : std::vector<int64_t>{3, 2, 0, 1});
  Attributes attributes = window_attributes(window);
  attributes["dilations"] = attr::integers(pair(window.dilation));
  attributes["group"] = attr::integer(groups);
  return on_planes(builder, "Conv", with_bias(x, ordered, bias), std::move(attributes), epilogue);
}

TensorId depthwise_convolution(GraphBuilder& builder, TensorId x, TensorId weights,
                               WeightOrder order, int64_t multiplier, TensorId bias,
                               const Window& window, const Epilogue& epilogue) {
  const HostTensorPtr values = builder.known(weights);
  if (values == nullptr) {
    // The number of channels is known when the model is planned.
    const bool joined = order == WeightOrder::ohwi;
    const TensorId ordered =
        joined ? builder.transpose(weights, {3, 0, 1, 2})
               : builder.transpose(builder.reshape(weights, {0, 0, 1, -1}), {3, 2, 0, 1});
    Attributes attributes = window_attributes(window);
    attributes["dilations"] = attr::integers(pair(window.dilation));
    attributes["depthwise"] = attr::integer(1);
    return on_planes(builder, "Conv", with_bias(x, ordered, bias), std::move(attributes), epilogue);
  }
  const Shape& shape = values->shape;
  const bool joined = order == WeightOrder::ohwi;
  const bool fits = shape.size() == 4 && multiplier >= 1 &&
                    (joined ? shape[0] == 1 && shape[3] % multiplier == 0 : shape[3] == multiplier);
  if (!fits) {
    reject(text("depthwise weights of shape ", to_string(shape),
                " do not fit a depth multiplier of ", multiplier));
  }
  // The outputs of one input channel are adjacent, in the file as in ONNX.
  const size_t y = joined ? 1 : 0;
  const int64_t results = joined ? shape[3] : shape[2] * shape[3];
  auto flat = std::make_shared<HostTensor>(*values);
  flat->shape = {shape[y], shape[y + 1], 1, results};
  const TensorId ordered = builder.transpose(builder.constant(std::move(flat)), {3, 2, 0, 1});
  Attributes attributes = window_attributes(window);
  attributes["dilations"] = attr::integers(pair(window.dilation));
  attributes["group"] = attr::integer(results / multiplier);
  return on_planes(builder, "Conv", with_bias(x, ordered, bias), std::move(attributes), epilogue);
}

TensorId transposed_convolution(GraphBuilder& builder, TensorId x, TensorId weights,
                                WeightOrder order, TensorId bias, std::vector<int64_t> size,
                                const Window& window, const Epilogue& epilogue) {
  // The order of ONNX: in, out, height, width.
  const bool out_first = order == WeightOrder::ohwi;
  const TensorId ordered = builder.transpose(
      weights, out_first ? std::vector<int64_t>{3, 0, 1, 2} : std::vector<int64_t>{3, 2, 0, 1});
  Attributes attributes = window_attributes(window);
  attributes["dilations"] = attr::integers(pair(window.dilation));
  // VALID crops nothing, and an output size beyond the windows extends the result at its end.
  if (!window.same && !window.pads) attributes.erase("auto_pad");
  if (!size.empty()) attributes["output_shape"] = attr::integers(std::move(size));
  return on_planes(builder, "ConvTranspose", with_bias(x, ordered, bias), std::move(attributes),
                   epilogue);
}

std::optional<Window> dilated(const Window& window, std::array<int64_t, 2> kernel,
                              std::array<int64_t, 2> block, std::array<int64_t, 4> pads,
                              std::array<int64_t, 4> crops) {
  Window result = window;
  if (window.stride != std::array<int64_t, 2>{1, 1} || window.pads) return std::nullopt;
  result.same = false;
  result.pads.emplace();
  for (size_t d = 0; d < 2; ++d) {
    if (block[d] < 1 || window.dilation[d] < 1 || kernel[d] < 1) return std::nullopt;
    // The convolution's own padding applies to each of the `block` phases, so it counts `block`
    // times.
    const int64_t inner = window.same ? (kernel[d] - 1) * window.dilation[d] : 0;
    const int64_t before = pads[d] + inner / 2 * block[d] - crops[d];
    const int64_t after = pads[d + 2] + (inner - inner / 2) * block[d] - crops[d + 2];
    if (before < 0 || after < 0) return std::nullopt;
    result.dilation[d] = window.dilation[d] * block[d];
    (*result.pads)[d] = before;
    (*result.pads)[d + 2] = after;
  }
  return result;
}

TensorId max_pool(GraphBuilder& builder, TensorId x, const Window& window,
                  const Epilogue& epilogue) {
  return on_planes(builder, "MaxPool", {x}, pool_attributes(window), epilogue);
}

TensorId average_pool(GraphBuilder& builder, TensorId x, const Window& window,
                      const Epilogue& epilogue) {
  return on_planes(builder, "AveragePool", {x}, pool_attributes(window), epilogue);
}

TensorId resize(GraphBuilder& builder, TensorId x, TensorId size, const Resize& how) {
  const char* coordinates = how.align_corners        ? "align_corners"
                            : how.half_pixel_centers ? "half_pixel"
                                                     : "asymmetric";
  Attributes attributes{{"axes", attr::integers({2, 3})}};
  if (how.bilinear) {
    attributes["mode"] = attr::text("linear");
  } else {
    // TensorFlow samples at the centre of an output element without subtracting half an element.
    if (how.half_pixel_centers && !how.align_corners) coordinates = "tf_half_pixel_for_nn";
    attributes["mode"] = attr::text("nearest");
    attributes["nearest_mode"] = attr::text(how.align_corners ? "round_prefer_ceil" : "floor");
  }
  attributes["coordinate_transformation_mode"] = attr::text(coordinates);
  const TensorId sizes = builder.cast(size, ElementType::i64);
  return on_planes(builder, "Resize", {x, kNone, kNone, sizes}, std::move(attributes), {});
}

TensorId depth_to_space(GraphBuilder& builder, TensorId x, int64_t block) {
  return on_planes(builder, "DepthToSpace", {x},
                   {{"blocksize", attr::integer(block)}, {"mode", attr::text("DCR")}}, {});
}

TensorId space_to_depth(GraphBuilder& builder, TensorId x, int64_t block) {
  return on_planes(builder, "SpaceToDepth", {x}, {{"blocksize", attr::integer(block)}}, {});
}

}  // namespace dala::model::channels_last
