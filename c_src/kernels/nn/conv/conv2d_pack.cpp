#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/nn/conv/convolution.hpp"
#include "kernels/nn/nn.hpp"
#include "kernels/nn/winograd/winograd.hpp"

namespace dala {
namespace {

// A multiple of the vector width of every device.
constexpr int64_t kPadding = 16;

Convolution weights_of(const Shape& weights, int64_t groups) {
  Convolution conv;
  conv.groups = groups;
  conv.in_channels = weights[1];
  conv.out_channels = weights[0] / groups;
  conv.window.size_y = weights[2];
  conv.window.size_x = weights[3];
  set_columns(conv);
  return conv;
}

void check_pack(const Call& call) {
  need_output_dtype("conv2d_pack", call, {call.inputs[0].dtype});
  const Shape& weights = call.inputs[0].shape;
  if (weights.size() != 4 || *std::min_element(weights.begin(), weights.end()) < 1) {
    throw Error(Reason::shape_mismatch,
                text("input 0 of conv2d_pack has shape ", to_string(weights),
                     ", expected {co, c / groups, kh, kw} with no extent of 0"));
  }
  const int64_t groups = call.integer("groups");
  if (weights[0] % groups != 0) {
    throw Error(Reason::invalid_param, text("groups of conv2d_pack must divide the ", weights[0],
                                            " output channels of input 0, got ", groups));
  }
  if (!call.flag("winograd")) {
    need_output_shape("conv2d_pack", call, {packed_weights_shape(weights, groups)});
    return;
  }
  if (groups != 1 || weights[2] != kWinogradWindow || weights[3] != kWinogradWindow) {
    throw Error(Reason::invalid_param,
                text("winograd of conv2d_pack takes weights {co, c, 3, 3} of one group, got ",
                     to_string(weights), " and groups ", groups));
  }
  need_output_shape("conv2d_pack", call, {winograd_weights_shape(weights)});
}

KernelStep pack_gpu_step(Planner& planner, const Call& call, const Convolution& conv) {
  const size_t items = planner.group_items(256);
  const auto groups = ceil_div(call.output.count(), static_cast<int64_t>(items));
  Range range;
  range.local[0] = items;
  range.global[0] = static_cast<size_t>(groups) * items;
  return {nn_program(planner, call.output.dtype),
          "conv2d_pack",
          {input(0), output(), value(conv)},
          range};
}

Launch plan_conv2d_pack(const Call& call, Planner& planner) {
  planner.need_arithmetic("conv2d_pack", call);
  Launch launch;
  const Convolution conv = weights_of(call.inputs[0].shape, call.integer("groups"));
  if (call.flag("winograd")) {
    plan_winograd_pack(launch, planner, call, conv);
  } else if (planner.cpu_class()) {
    plan_pack(launch, planner, call, conv);
  } else {
    launch.steps.push_back(pack_gpu_step(planner, call, conv));
  }
  launch.work = static_cast<double>(call.inputs[0].bytes() + call.output.bytes());
  return launch;
}

}  // namespace

void set_columns(Convolution& conv) {
  const auto padded = [](int64_t channels) { return ceil_div(channels, kPadding) * kPadding; };
  conv.group_columns = is_depthwise(conv) ? 1 : padded(conv.out_channels);
  conv.columns = padded(conv.groups * conv.group_columns);
}

Shape packed_weights_shape(const Shape& weights, int64_t groups) {
  return {weights[2], weights[3], weights[1], weights_of(weights, groups).columns};
}

Shape winograd_weights_shape(const Shape& weights) {
  return packed_weights_shape({weights[0], weights[1], kWinogradSide, kWinogradSide}, 1);
}

Descriptor conv2d_pack_kernel() {
  Descriptor pack;
  pack.name = "conv2d_pack";
  pack.summary =
      "Packs weights {co, c / groups, kh, kw} for conv2d with layout nhwc and packed, in the order "
      "that is fastest on this device.";
  pack.dtypes = kFloatDTypes;
  pack.output_rule =
      "the input's element type, {kh, kw, c / groups, columns}: a column per output channel, "
      "rounded up to a multiple of 16 for each group, or for all together if each group has one "
      "channel in and out; {6, 6, c, columns} with winograd";
  pack.params = {groups_param(), winograd_param()};
  pack.check = check_pack;
  pack.plan = plan_conv2d_pack;
  pack.sample = [](DType dtype) {
    const Shape one{1, 1, 1, 1};
    return Call{{{dtype, one}}, {dtype, packed_weights_shape(one, 1)}, {}};
  };
  return pack;
}

}  // namespace dala
