// Convolutions. 1-D and 2-D convolutions of floats run as conv2d, in NHWC with constant weights
// packed once; all others run on the general kernel.
#include "model/ops/convolution.hpp"

#include <algorithm>

#include "kernels/nn/conv/convolution.hpp"
#include "model/ops/families.hpp"
#include "model/views.hpp"

namespace dala::model {

Tensor as_pixels(Build& build, const Tensor& x) {
  const Tensor pixels = arranged(build, x, channels_last_order(x.rank()));
  if (x.rank() == 4) return pixels;
  return Build::reshaped(pixels, {pixels.dim(0), 1, pixels.dim(1), pixels.dim(2)});
}

namespace {

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

// Runs the kernel conv2d: floats in up to two spatial dimensions, with a residual of the shape of
// the result.
Tensor convolved_planes(OpCall& call, const Tensor& x, const Tensor& weights,
                        const std::optional<Tensor>& bias, const WindowAttributes& attributes,
                        const Shape& shape, const Epilogue& epilogue) {
  Build& build = call.build;
  std::vector<double> pads = as_pair(attributes.before, 0);
  const std::vector<double> after = as_pair(attributes.after, 0);
  pads.insert(pads.end(), after.begin(), after.end());
  const int64_t groups = call.integer("group", 1);
  // Weights that are not constant are packed by every run, which pays off if the input is NHWC
  // already.
  const bool known = weights.known != nullptr;
  const Order order = channels_last_order(x.rank());
  const bool last = known || order_of(x) == order;
  const auto placed = [&](const Tensor& tensor) {
    return last ? as_pixels(build, tensor) : Build::reshaped(tensor, as_plane(tensor.shape));
  };
  std::vector<Tensor> inputs{placed(x), known ? build.packed(weights, groups)
                                              : Build::reshaped(weights, as_plane(weights.shape))};
  if (bias) inputs.push_back(*bias);
  if (epilogue.residual) {
    if (!bias) inputs.push_back(filled(build, x.type, {weights.dim(0)}, 0));
    inputs.push_back(placed(*epilogue.residual));
  }
  const Shape plane = as_plane(shape);
  const Tensor output =
      build.kernel("conv2d", inputs, x.type, last ? permuted(plane, channels_last_order(4)) : plane,
                   {{"stride", as_pair(attributes.stride, 1)},
                    {"pad", pads},
                    {"dilation", as_pair(attributes.dilation, 1)},
                    {"groups", groups},
                    {"activation", epilogue.activation},
                    {"slope", epilogue.slope},
                    {"low", epilogue.low},
                    {"high", epilogue.high},
                    {"layout", std::string(last ? "nhwc" : "nchw")},
                    {"packed", known}});
  if (!last) return Build::reshaped(output, shape);
  return viewed(Build::reshaped(output, permuted(shape, order)), order);
}

// The general kernel, for every element type and up to three dimensions.
Tensor convolved_windows(OpCall& call, const Tensor& x, const Tensor& weights,
                         const std::optional<Tensor>& bias, const WindowAttributes& attributes,
                         const Shape& shape) {
  Windows view = windows_of(x, attributes);
  view.groups = call.integer("group", 1);
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

Tensor finished(Build& build, Tensor x, const Epilogue& epilogue) {
  if (epilogue.residual) x = pointwise(build, OP_ADD, {x, *epilogue.residual});
  const std::string& name = epilogue.activation;
  if (name == "relu") return pointwise(build, OP_RELU, {x});
  if (name == "relu6") {
    return pointwise(build, OP_CLIP, {x, scalar(build, x.type, 0), scalar(build, x.type, 6)});
  }
  if (name == "clamp") {
    return pointwise(
        build, OP_CLIP,
        {x, scalar(build, x.type, epilogue.low), scalar(build, x.type, epilogue.high)});
  }
  if (name == "leaky_relu") return pointwise(build, OP_LEAKY_RELU, {x}, epilogue.slope);
  if (name == "sigmoid") return pointwise(build, OP_SIGMOID, {x});
  if (name == "silu") return pointwise(build, OP_MUL, {x, pointwise(build, OP_SIGMOID, {x})});
  if (name == "hardswish") return pointwise(build, OP_HARD_SWISH, {x});
  return x;
}

Tensor convolved(OpCall& call, const Tensor& x, const Tensor& weights,
                 const std::optional<Tensor>& bias, const Epilogue& epilogue) {
  check_shapes(x, weights, call.integer("group", 1));
  if (bias && bias->shape != Shape{weights.dim(0)}) {
    throw Error(Reason::shape_mismatch, text("bias has shape ", to_string(bias->shape),
                                             ", expected ", to_string(Shape{weights.dim(0)})));
  }
  const auto attributes = window_attributes(
      call, x, std::vector<int64_t>(weights.shape.begin() + 2, weights.shape.end()), false);
  Shape shape{x.dim(0), weights.dim(0)};
  shape.insert(shape.end(), attributes.out.begin(), attributes.out.end());
  if (x.rank() > 4 || !is_float(x.type) || x.count() == 0 || weights.count() == 0) {
    if (weights.known != nullptr && weights.known->bytes.size() < weights.bytes()) {
      call.unsupported("packed weights with an empty input are not supported");
    }
    return finished(call.build, convolved_windows(call, x, weights, bias, attributes, shape),
                    epilogue);
  }
  // A residual that broadcasts is added afterwards.
  if (!epilogue.residual || epilogue.residual->shape == shape) {
    return convolved_planes(call, x, weights, bias, attributes, shape, epilogue);
  }
  return finished(call.build, convolved_planes(call, x, weights, bias, attributes, shape, {}),
                  epilogue);
}

Epilogue epilogue_of(const OpCall& call) {
  Epilogue epilogue;
  epilogue.activation = call.text("activation", "none");
  epilogue.slope = call.real("slope", 0);
  epilogue.low = call.real("low", 0);
  epilogue.high = call.real("high", 1);
  return epilogue;
}

// Runs as a 1x1 convolution with one group per channel: its packed weights are the factors, up to
// the padding at the end of the row.
std::optional<Tensor> scaled_channels(Build& build, const Tensor& x, const Tensor& factor,
                                      const std::optional<Tensor>& shift,
                                      const Epilogue& epilogue) {
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
  const Tensor output = build.kernel("conv2d", inputs, x.type, permuted(x.shape, order),
                                     {{"groups", channels},
                                      {"activation", epilogue.activation},
                                      {"slope", epilogue.slope},
                                      {"low", epilogue.low},
                                      {"high", epilogue.high},
                                      {"layout", std::string("nhwc")},
                                      {"packed", true}});
  return viewed(output, order);
}

namespace {

// The optimizer adds an activation as attributes, and a residual as input 3.
void conv(OpCall& call) {
  const std::optional<Tensor> bias = call.has(2) ? call.inputs[2] : std::nullopt;
  Epilogue epilogue = epilogue_of(call);
  if (call.has(3)) epilogue.residual = call.in(3);
  call.set(0, convolved(call, call.in(0), call.in(1), bias, epilogue));
}

}  // namespace

Operators convolution_operators() {
  return {
      {"Conv", conv},
  };
}

}  // namespace dala::model
