#include <algorithm>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/nn/activation/activation.hpp"
#include "kernels/nn/conv/convolution.hpp"
#include "kernels/nn/nn.hpp"

namespace dala {
namespace {

const std::string kName = "conv_transpose2d";

[[noreturn]] void reject_input(size_t index, const Call& call, const std::string& expected) {
  throw Error(Reason::shape_mismatch,
              text("input ", index, " of ", kName, " has shape ",
                   to_string(call.inputs[index].shape), ", expected ", expected));
}

// Padding removes rows and columns of the output that a convolution would add to its input.
Window window_of_call(const Call& call) {
  const Shape& weights = call.inputs[1].shape;
  const auto extra = pair_of(call, "output_padding");
  const auto pads = pads_of(call);
  Window window = window_over(call, {weights[2], weights[3]});
  const int64_t height = (window.height - 1) * window.stride_y + span_y(window);
  const int64_t width = (window.width - 1) * window.stride_x + span_x(window);
  window.out_height = height - pads[0] - pads[2] + extra[0];
  window.out_width = width - pads[1] - pads[3] + extra[1];
  return window;
}

void check_output_padding(const Call& call) {
  const auto extra = pair_of(call, "output_padding");
  const auto stride = pair_of(call, "stride");
  const auto dilation = pair_of(call, "dilation");
  for (size_t i = 0; i < extra.size(); ++i) {
    if (extra[i] < std::max(stride[i], dilation[i])) continue;
    throw Error(Reason::invalid_param,
                text("output_padding of ", kName, " must be smaller than stride or dilation, got ",
                     to_string(call.params.at("output_padding"))));
  }
}

void check_transposed(const Call& call) {
  need_same_inputs(kName, call);
  need_output_dtype(kName, call, {call.inputs[0].dtype});
  need_planes(kName, call);
  const bool nhwc = is_nhwc(call);
  Planes planes = planes_of(call.inputs[0].shape, nhwc);
  const int64_t groups = call.integer("groups");
  if (planes.channels % groups != 0) {
    throw Error(Reason::invalid_param, text("groups of ", kName, " must divide the ",
                                            planes.channels, " channels of input 0, got ", groups));
  }
  const Shape& weights = call.inputs[1].shape;
  if (weights.size() != 4 || weights[0] != planes.channels ||
      *std::min_element(weights.begin(), weights.end()) < 1) {
    reject_input(1, call, text("{", planes.channels, ", co / groups, kh, kw}"));
  }
  planes.channels = weights[1] * groups;
  if (call.inputs.size() > 2 && call.inputs[2].shape != Shape{planes.channels}) {
    reject_input(2, call, to_string(Shape{planes.channels}));
  }
  check_activation(kName, call);
  check_output_padding(call);
  const Window window = window_of_call(call);
  if (window.out_height < 1 || window.out_width < 1) {
    throw Error(Reason::shape_mismatch,
                text("the padding of ", kName, " leaves an output of ", window.out_height, " by ",
                     window.out_width, " elements"));
  }
  planes.height = window.out_height;
  planes.width = window.out_width;
  need_output_shape(kName, call, {shape_of(planes, nhwc)});
}

Convolution transposed_of(const Call& call) {
  const bool nhwc = is_nhwc(call);
  Convolution conv;
  conv.window = window_of_call(call);
  conv.groups = call.integer("groups");
  conv.slices = call.inputs[0].shape[0] * conv.groups;
  conv.in_channels = planes_of(call.inputs[0].shape, nhwc).channels / conv.groups;
  conv.out_channels = call.inputs[1].shape[1];
  conv.has_bias = call.inputs.size() > 2 ? 1 : 0;
  conv.curve = activation_of(call).curve;
  conv.nhwc = nhwc ? 1 : 0;
  return conv;
}

Launch plan_transposed(const Call& call, Planner& planner) {
  planner.need_arithmetic(kName, call);
  Launch launch;
  const int64_t count = call.output.count();
  if (count == 0) return launch;
  const Convolution conv = transposed_of(call);
  const Activation activation = activation_of(call);
  const int64_t units =
      planner.cpu_class() ? std::max<int64_t>(1, count / (8 * planner.busy_groups())) : 1;
  const size_t items = planner.cpu_class() ? 1 : planner.group_items(256);
  const int64_t groups = ceil_div(ceil_div(count, units), static_cast<int64_t>(items));
  Range range;
  range.local[0] = items;
  range.global[0] = static_cast<size_t>(groups) * items;
  launch.steps.push_back(
      KernelStep{nn_program(planner, call.output.dtype),
                 kName,
                 {input(0), input(1), input(conv.has_bias != 0 ? 2 : 0), output(), value(conv),
                  value(count), value(units), number_of(call, activation.low),
                  number_of(call, activation.high), number_of(call, activation.slope)},
                 range});
  const double operations =
      2.0 * static_cast<double>(call.inputs[0].count()) *
      static_cast<double>(conv.out_channels * conv.window.size_y * conv.window.size_x);
  launch.work = static_cast<double>(call.output.bytes()) + operations / 8;
  for (const TensorType& type : call.inputs) launch.work += static_cast<double>(type.bytes());
  return launch;
}

}  // namespace

Descriptor conv_transpose2d_kernel() {
  ParamSpec stride = pair_param(
      "stride", "the distance between the results of adjacent elements: one number, or {y, x}");
  stride.fallback = int64_t{1};
  ParamSpec dilation = pair_param(
      "dilation", "the distance between the elements of a window: one number, or {y, x}");
  dilation.fallback = int64_t{1};
  ParamSpec extra = pair_param("output_padding",
                               "rows and columns added below and to the right of the output: one "
                               "number, or {y, x}, smaller than stride or dilation");
  extra.min = 0;
  extra.fallback = int64_t{0};
  ParamSpec pad = pad_param();
  pad.summary =
      "rows and columns removed around the output: one number, {y, x} or {top, left, bottom, "
      "right}";

  Descriptor transposed;
  transposed.name = kName;
  transposed.summary =
      "The transposed convolution of x {n, c, h, w} with weights {c, co / groups, kh, kw}, plus a "
      "bias {co} if given as input 2.";
  transposed.inputs = 2;
  transposed.optional_inputs = 1;
  transposed.dtypes = kFloatDTypes;
  transposed.output_rule =
      "the inputs' element type and layout, {n, co, oh, ow} with oh = (h - 1) * stride + (kh - 1) "
      "* dilation + 1 - padding + output_padding, and ow likewise";
  transposed.params = {stride, pad, extra, dilation, groups_param()};
  for (ParamSpec& param : activation_params()) transposed.params.push_back(std::move(param));
  transposed.params.push_back(layout_param());
  transposed.check = check_transposed;
  transposed.plan = plan_transposed;
  return transposed;
}

}  // namespace dala
