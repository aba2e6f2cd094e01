// Convolutions and their transposes.
#include "model/ops/convolution.hpp"

#include <algorithm>

#include "model/ops/families.hpp"

namespace dala::model {
namespace {

void check_shapes(const Tensor& x, const Tensor& weights, int64_t groups) {
  if (groups >= 1 && x.rank() >= 3 && weights.rank() == x.rank() && x.dim(1) % groups == 0 &&
      weights.dim(1) == x.dim(1) / groups && weights.dim(0) % groups == 0) {
    return;
  }
  throw Error(Reason::shape_mismatch,
              text("weights of shape ", to_string(weights.shape), " in ", groups,
                   " groups for an input of shape ", to_string(x.shape)));
}

// A single dimension is a plane of height 1.
Shape as_plane(const Shape& shape) {
  return shape.size() == 4 ? shape : Shape{shape[0], shape[1], 1, shape[2]};
}

std::vector<double> as_pair(const std::vector<int64_t>& values, double fallback) {
  std::vector<double> result = as_numbers(values);
  if (result.size() == 1) result.insert(result.begin(), fallback);
  return result;
}

// Planes of floats, which the registry's kernel takes, with a residual of the result's shape.
Tensor convolved_planes(OpCall& call, const Tensor& x, const Tensor& weights,
                        const std::optional<Tensor>& bias, const WindowAttributes& attributes,
                        const Shape& shape, const Epilogue& epilogue) {
  std::vector<double> pads = as_pair(attributes.before, 0);
  const std::vector<double> after = as_pair(attributes.after, 0);
  pads.insert(pads.end(), after.begin(), after.end());
  std::vector<Tensor> inputs{Build::reshaped(x, as_plane(x.shape)),
                             Build::reshaped(weights, as_plane(weights.shape))};
  if (bias) inputs.push_back(*bias);
  if (epilogue.residual) {
    if (!bias) inputs.push_back(filled(call.build, x.type, {weights.dim(0)}, 0));
    inputs.push_back(Build::reshaped(*epilogue.residual, as_plane(shape)));
  }
  const Tensor output = call.build.kernel("conv2d", inputs, x.type, as_plane(shape),
                                          {{"stride", as_pair(attributes.stride, 1)},
                                           {"pad", pads},
                                           {"dilation", as_pair(attributes.dilation, 1)},
                                           {"groups", call.integer("group", 1)},
                                           {"activation", epilogue.activation},
                                           {"slope", epilogue.slope}});
  return Build::reshaped(output, shape);
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

Tensor finished(OpCall& call, Tensor x, const Epilogue& epilogue) {
  Build& build = call.build;
  if (epilogue.residual) x = pointwise(build, OP_ADD, {x, *epilogue.residual});
  const std::string& name = epilogue.activation;
  if (name == "relu") return pointwise(build, OP_RELU, {x});
  if (name == "relu6") {
    return pointwise(build, OP_CLIP, {x, scalar(build, x.type, 0), scalar(build, x.type, 6)});
  }
  if (name == "leaky_relu") return pointwise(build, OP_LEAKY_RELU, {x}, epilogue.slope);
  if (name == "sigmoid") return pointwise(build, OP_SIGMOID, {x});
  if (name == "silu") return pointwise(build, OP_MUL, {x, pointwise(build, OP_SIGMOID, {x})});
  if (name == "hardswish") return pointwise(build, OP_HARD_SWISH, {x});
  return x;
}

}  // namespace

Tensor convolved(OpCall& call, const Tensor& x, const Tensor& weights,
                 const std::optional<Tensor>& bias, const Epilogue& epilogue) {
  check_shapes(x, weights, call.integer("group", 1));
  if (bias && bias->shape != Shape{weights.dim(0)}) {
    throw Error(Reason::shape_mismatch, text("a bias of shape ", to_string(bias->shape), " for ",
                                             weights.dim(0), " channels"));
  }
  const auto attributes = window_attributes(
      call, x, std::vector<int64_t>(weights.shape.begin() + 2, weights.shape.end()), false);
  Shape shape{x.dim(0), weights.dim(0)};
  shape.insert(shape.end(), attributes.out.begin(), attributes.out.end());
  if (x.rank() > 4 || !is_float(x.type) || x.count() == 0) {
    return finished(call, convolved_windows(call, x, weights, bias, attributes, shape), epilogue);
  }
  // A residual that has to be repeated is added afterwards.
  if (!epilogue.residual || epilogue.residual->shape == shape) {
    return convolved_planes(call, x, weights, bias, attributes, shape, epilogue);
  }
  return finished(call, convolved_planes(call, x, weights, bias, attributes, shape, {}), epilogue);
}

namespace {

// The optimizer puts an activation there, and a tensor that is added before it as input 3.
void conv(OpCall& call) {
  const std::optional<Tensor> bias = call.has(2) ? call.inputs[2] : std::nullopt;
  Epilogue epilogue;
  epilogue.activation = call.text("activation", "none");
  epilogue.slope = call.real("slope", 0);
  if (call.has(3)) epilogue.residual = call.in(3);
  call.set(0, convolved(call, call.in(0), call.in(1), bias, epilogue));
}

void conv_transpose(OpCall& call) {
  const Tensor& x = call.in(0);
  const Tensor& weights = call.in(1);
  const int64_t groups = call.integer("group", 1);
  if (groups < 1 || x.rank() < 3 || weights.rank() != x.rank() || weights.dim(0) != x.dim(1) ||
      x.dim(1) % groups != 0) {
    throw Error(Reason::shape_mismatch,
                text("weights of shape ", to_string(weights.shape), " in ", groups,
                     " groups for an input of shape ", to_string(x.shape)));
  }
  need_moderate(x);
  need_moderate(weights);
  const auto rank = static_cast<size_t>(x.rank() - 2);
  const auto list = [&](const char* name, size_t size, int64_t fallback, int64_t least) {
    std::vector<int64_t> values = call.integers(name);
    if (values.empty()) values.assign(size, fallback);
    for (int64_t value : values) {
      if (value < least || value > (1 << 20)) values.clear();
    }
    if (values.size() != size) throw Error(Reason::invalid_model, text(name, " does not fit"));
    return values;
  };
  WindowAttributes attributes;
  attributes.size.assign(weights.shape.begin() + 2, weights.shape.end());
  attributes.stride = list("strides", rank, 1, 1);
  attributes.dilation = list("dilations", rank, 1, 1);
  const std::vector<int64_t> extra = list("output_padding", rank, 0, 0);
  const std::vector<int64_t> pads = list("pads", 2 * rank, 0, 0);
  const std::vector<int64_t> wanted = call.integers("output_shape");
  const std::string automatic = call.text("auto_pad", "NOTSET");
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  Shape shape{x.dim(0), weights.dim(1) * groups};
  for (size_t d = 0; d < rank; ++d) {
    const int64_t stride = attributes.stride[d];
    const int64_t span = (attributes.size[d] - 1) * attributes.dilation[d] + 1;
    const int64_t full = stride * (x.shape[d + 2] - 1) + extra[d] + span;
    int64_t before = pads[d];
    int64_t after = pads[d + rank];
    if (same || wanted.size() >= rank) {
      const int64_t out =
          wanted.size() < rank ? x.shape[d + 2] * stride : wanted[wanted.size() - rank + d];
      // What is larger than all windows reach ends in nothing but the bias.
      const int64_t total = std::max<int64_t>(0, full - out);
      before = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      after = full - out - before;
    }
    attributes.before.push_back(before);
    attributes.after.push_back(after);
    attributes.out.push_back(full - before - after);
    shape.push_back(full - before - after);
  }
  if (call.has(2) && call.in(2).shape != Shape{shape[1]}) {
    throw Error(Reason::shape_mismatch, text("a bias of shape ", to_string(call.in(2).shape),
                                             " for ", shape[1], " channels"));
  }
  Tensor output = call.build.fresh(x.type, shape);
  Windows view = windows_of(x, attributes);
  view.groups = groups;
  view.in_channels = x.dim(1) / groups;
  view.out_channels = weights.dim(1);
  view.flag = call.has(2) ? 1 : 0;
  view.count = output.count();
  call.build.run(
      math_family(x.type), "convolve_transposed", {x, weights, call.has(2) ? call.in(2) : weights},
      output, {}, view,
      2.0 * static_cast<double>(view.in_channels * extent(weights.shape, 2, weights.rank())));
  call.set(0, output);
}

}  // namespace

Operators convolution_operators() {
  return {
      {"Conv", conv},
      {"ConvTranspose", conv_transpose},
  };
}

}  // namespace dala::model
