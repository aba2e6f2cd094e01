// Convolutions. 1-D and 2-D convolutions of floats run as conv2d, in NHWC with constant weights
// packed once; all others run on the general kernel.
#include "model/ops/nn/convolution.hpp"

#include <algorithm>
#include <utility>

#include "kernels/nn/conv/convolution.hpp"
#include "kernels/nn/winograd/winograd.hpp"
#include "model/build/views.hpp"
#include "model/ops/families.hpp"

namespace dala::model {

Tensor as_pixels(Build& build, const Tensor& x) {
  const Tensor pixels = arranged(build, x, channels_last_order(x.rank()));
  if (x.rank() == 4) return pixels;
  return Build::reshaped(pixels, {pixels.dim(0), 1, pixels.dim(1), pixels.dim(2)});
}

namespace {

// A depthwise convolution has as many groups as its input has channels.
int64_t groups_of(const OpCall& call) {
  const bool depthwise = call.integer("depthwise", 0) != 0 && call.in(0).rank() >= 2;
  return depthwise ? call.in(0).dim(1) : call.integer("group", 1);
}

void check_shapes(const Tensor& x, const Tensor& weights, int64_t groups) {
  if (groups >= 1 && x.rank() >= 3 && weights.rank() == x.rank() && x.dim(1) % groups == 0 &&
      weights.dim(1) == x.dim(1) / groups && weights.dim(0) % groups == 0) {
    return;
  }
  throw Error(Reason::shape_mismatch,
              text("weights of shape ", to_string(weights.shape), " in ", groups,
                   " groups do not fit an input of shape ", to_string(x.shape)));
}

// The NCHW shape; one spatial dimension gets a height of 1.
Shape as_plane(const Shape& shape) {
  return shape.size() == 4 ? shape : Shape{shape[0], shape[1], 1, shape[2]};
}

std::vector<double> as_pair(const std::vector<int64_t>& values, double fallback) {
  std::vector<double> result = as_numbers(values);
  if (result.size() == 1) result.insert(result.begin(), fallback);
  return result;
}

Params with_activation(Params params, const Activation& activation) {
  params["activation"] = std::string(to_string(activation.kind));
  params["slope"] = activation.slope;
  params["low"] = activation.low;
  params["high"] = activation.high;
  return params;
}

// Whether constant weights are to be packed for Winograd's algorithm. If an earlier plan has packed
// them, that decides, so that there is one copy.
bool by_winograd(const Build& build, const Tensor& weights, int64_t groups,
                 const WindowAttributes& attributes, const Shape& shape) {
  const auto is_one = [](int64_t value) { return value == 1; };
  const bool possible = groups == 1 && weights.rank() == 4 &&
                        std::all_of(attributes.stride.begin(), attributes.stride.end(), is_one) &&
                        std::all_of(attributes.dilation.begin(), attributes.dilation.end(), is_one);
  if (!possible || build.is_packed(weights, groups, false)) return false;
  return build.is_packed(weights, groups, true) ||
         suits_winograd(build.planner(), storage_of(weights.type), weights.shape, shape[2],
                        shape[3]);
}

// Runs the kernel conv2d: floats in up to two spatial dimensions, with a residual of the shape of
// the result.
Tensor convolved_planes(OpCall& call, const Tensor& x, const Tensor& weights,
                        const std::optional<Tensor>& bias, const WindowAttributes& attributes,
                        const Shape& shape, const std::optional<Tensor>& residual,
                        const Activation& activation) {
  Build& build = call.build;
  std::vector<double> pads = as_pair(attributes.before, 0);
  const std::vector<double> after = as_pair(attributes.after, 0);
  pads.insert(pads.end(), after.begin(), after.end());
  const int64_t groups = groups_of(call);
  // Weights that are not constant are packed by every run, which pays off if the input is NHWC
  // already.
  const bool known = weights.known != nullptr;
  const Order order = channels_last_order(x.rank());
  const bool last = known || order_of(x) == order;
  const auto placed = [&](const Tensor& tensor) {
    return last ? as_pixels(build, tensor) : Build::reshaped(tensor, as_plane(tensor.shape));
  };
  // The transforms of Winograd's algorithm round, so sums of integers do not go through them.
  const bool winograd =
      known && is_float(call.in(0).type) && by_winograd(build, weights, groups, attributes, shape);
  std::vector<Tensor> inputs{placed(x), known ? build.packed(weights, groups, winograd)
                                              : Build::reshaped(weights, as_plane(weights.shape))};
  if (bias) inputs.push_back(*bias);
  if (residual) {
    if (!bias) inputs.push_back(filled(build, x.type, {weights.dim(0)}, 0));
    inputs.push_back(placed(*residual));
  }
  const Shape plane = as_plane(shape);
  Params params{{"stride", as_pair(attributes.stride, 1)},
                {"pad", pads},
                {"dilation", as_pair(attributes.dilation, 1)},
                {"groups", groups},
                {"layout", std::string(last ? "nhwc" : "nchw")},
                {"packed", known},
                {"winograd", winograd}};
  const Tensor output =
      build.kernel("conv2d", inputs, x.type, last ? permuted(plane, channels_last_order(4)) : plane,
                   with_activation(std::move(params), activation));
  if (!last) return Build::reshaped(output, shape);
  return viewed(Build::reshaped(output, permuted(shape, order)), order);
}

// The general kernel, for every element type and up to three dimensions.
Tensor convolved_windows(OpCall& call, const Tensor& x, const Tensor& weights,
                         const std::optional<Tensor>& bias, const WindowAttributes& attributes,
                         const Shape& shape) {
  Windows view = windows_of(x, attributes);
  view.groups = groups_of(call);
  view.in_channels = weights.dim(1);
  view.out_channels = weights.dim(0) / view.groups;
  view.flag = bias ? 1 : 0;
  Tensor output = call.build.fresh(x.type, shape);
  view.count = output.count();
  const int64_t products = weights.count() / std::max<int64_t>(1, weights.dim(0));
  call.build.run(math_family(x.type), "convolve", {x, weights, bias ? *bias : weights}, output, {},
                 view, 2.0 * static_cast<double>(products));
  return output;
}

}  // namespace

Tensor activated(Build& build, const Tensor& x, const Activation& activation) {
  const auto clipped = [&](double low, double high) {
    return pointwise(build, OP_CLIP, {x, scalar(build, x.type, low), scalar(build, x.type, high)});
  };
  switch (activation.kind) {
    case Activation::Kind::relu:
      return pointwise(build, OP_RELU, {x});
    case Activation::Kind::relu6:
      return clipped(0, 6);
    case Activation::Kind::clamp:
      return clipped(activation.low, activation.high);
    case Activation::Kind::leaky_relu:
      return pointwise(build, OP_LEAKY_RELU, {x}, activation.slope);
    case Activation::Kind::sigmoid:
      return pointwise(build, OP_SIGMOID, {x});
    case Activation::Kind::silu:
      return pointwise(build, OP_MUL, {x, pointwise(build, OP_SIGMOID, {x})});
    case Activation::Kind::hardswish:
      return pointwise(build, OP_HARD_SWISH, {x});
    case Activation::Kind::none:
      break;
  }
  return x;
}

Tensor convolved(OpCall& call, const Tensor& x, const Tensor& weights,
                 const std::optional<Tensor>& bias) {
  check_shapes(x, weights, groups_of(call));
  if (bias && bias->shape != Shape{weights.dim(0)}) {
    throw Error(Reason::shape_mismatch, text("bias has shape ", to_string(bias->shape),
                                             ", expected ", to_string(Shape{weights.dim(0)})));
  }
  const auto attributes = window_attributes(
      call, x, std::vector<int64_t>(weights.shape.begin() + 2, weights.shape.end()), false);
  Shape shape{x.dim(0), weights.dim(0)};
  shape.insert(shape.end(), attributes.out.begin(), attributes.out.end());
  Build& build = call.build;
  const std::optional<Tensor> residual = call.residual();
  const Activation& activation = call.node.epilogue.activation;
  if (x.rank() > 4 || !is_float(x.type) || x.count() == 0 || weights.count() == 0) {
    if (weights.known != nullptr && weights.known->bytes.size() < weights.bytes()) {
      unsupported("packed weights with an empty input are not supported");
    }
    const Tensor sum = convolved_windows(call, x, weights, bias, attributes, shape);
    return activated(build, residual ? pointwise(build, OP_ADD, {sum, *residual}) : sum,
                     activation);
  }
  if (!residual || residual->shape == shape) {
    return convolved_planes(call, x, weights, bias, attributes, shape, residual, activation);
  }
  // A residual that broadcasts is added afterwards.
  const Tensor sum = convolved_planes(call, x, weights, bias, attributes, shape, {}, {});
  return activated(build, pointwise(build, OP_ADD, {sum, *residual}), activation);
}

// Runs as a 1x1 convolution with one group per channel: its packed weights are the factors, up to
// the padding at the end of the row.
std::optional<Tensor> scaled_channels(Build& build, const Tensor& x, const Tensor& factor,
                                      const std::optional<Tensor>& shift,
                                      const Activation& activation) {
  if (x.rank() != 4 || !is_float(x.type) || x.count() == 0 || x.known != nullptr ||
      order_of(x) != channels_last_order(4) || factor.type != x.type ||
      factor.count() != x.dim(1)) {
    return std::nullopt;
  }
  const int64_t channels = x.dim(1);
  const Shape packed = packed_weights_shape({channels, 1, 1, 1}, channels);
  Tensor weights;
  if (packed.back() == channels) {
    weights = Build::reshaped(in_own_order(build, factor), packed);
  } else if (factor.known != nullptr) {
    auto padded = std::make_shared<HostTensor>(factor.type, packed);
    std::copy(factor.known->bytes.begin(), factor.known->bytes.end(), padded->bytes.begin());
    weights = build.constant(std::move(padded));
  } else {
    return std::nullopt;
  }
  std::vector<Tensor> inputs{as_pixels(build, x), weights};
  if (shift) inputs.push_back(Build::reshaped(*shift, {channels}));
  const Order order = channels_last_order(4);
  Params params{{"groups", channels}, {"layout", std::string("nhwc")}, {"packed", true}};
  const Tensor output = build.kernel("conv2d", inputs, x.type, permuted(x.shape, order),
                                     with_activation(std::move(params), activation));
  return viewed(output, order);
}

namespace {

void conv(OpCall& call) {
  const std::optional<Tensor> bias = call.has(2) ? call.inputs[2] : std::nullopt;
  call.set(0, convolved(call, call.in(0), call.in(1), bias));
}

}  // namespace

Operators convolution_operators() {
  return {
      {"Conv", conv},
  };
}

}  // namespace dala::model
