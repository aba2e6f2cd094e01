// conv: convolutions of one to three dimensions, each as a conv2d. A line is a plane of height 1. A
// volume becomes, for each place of the filter along the depth, planes with the layers under the
// filter as further channels.
#include <algorithm>

#include "kernels/checks.hpp"
#include "kernels/compose.hpp"
#include "kernels/element.hpp"
#include "kernels/narrow.hpp"
#include "kernels/nn/conv/depth_args.h"
#include "kernels/nn/nn.hpp"
#include "kernels/nn/window.hpp"
#include "kernels/reduce/axis.hpp"
#include "kernels/shape/box.hpp"
#include "kernels/shape/shape.hpp"

namespace dala {
namespace {

constexpr double kFarthestConv = 65536;  // as for conv2d
constexpr int64_t kLargestExtent = int64_t{1} << 30;
constexpr int64_t kDepthElements = 16 * 1024;  // elements that amortise the start of a group

// The windows of a convolution along its spatial dimensions.
struct ConvWindows {
  size_t rank = 0;
  std::vector<int64_t> stride;
  std::vector<int64_t> dilation;
  std::vector<int64_t> low;
  std::vector<int64_t> high;
  Shape places;
};

ConvWindows conv_windows(const Call& call) {
  const Shape& in = call.inputs[0].shape;
  const Shape& weights = call.inputs[1].shape;
  const size_t rank = in.size() - 2;
  ConvWindows windows{rank,
                      per_dimension("conv", call, "stride", rank),
                      per_dimension("conv", call, "dilation", rank),
                      per_dimension("conv", call, "low", rank),
                      per_dimension("conv", call, "high", rank),
                      Shape(rank)};
  for (size_t d = 0; d < rank; ++d) {
    const int64_t reach = (weights[d + 2] - 1) * windows.dilation[d] + 1;
    const int64_t room = in[d + 2] + windows.low[d] + windows.high[d];
    if (reach > room) {
      throw Error(Reason::shape_mismatch,
                  text("a window of conv spans ", reach, " elements along dimension ", d + 2,
                       ", more than the padded input's ", room));
    }
    windows.places[d] = (room - reach) / windows.stride[d] + 1;
  }
  return windows;
}

[[noreturn]] void reject_conv(const Call& call, size_t index, const std::string& expected) {
  throw Error(Reason::shape_mismatch,
              text("input ", index, " of conv has shape ", to_string(call.inputs[index].shape),
                   ", expected ", expected));
}

void need_groups(const char* what, int64_t channels, size_t index, int64_t groups) {
  if (channels % groups == 0) return;
  throw Error(Reason::invalid_param, text("groups of conv must divide the ", channels, " ", what,
                                          " of input ", index, ", got ", groups));
}

void check_conv(const Call& call) {
  need_same_inputs("conv", call);
  need_output_dtype("conv", call, {call.inputs[0].dtype});
  const Shape& in = call.inputs[0].shape;
  const Shape& weights = call.inputs[1].shape;
  if (in.size() < 3 || in.size() > 5) {
    reject_conv(call, 0, "a batch, channels, and one to three dimensions");
  }
  for (size_t d = 1; d < in.size(); ++d) {
    if (in[d] > 0 && in[d] <= kLargestExtent) continue;
    reject_conv(call, 0, text("extents between 1 and ", kLargestExtent, " after the first"));
  }
  const int64_t groups = call.integer("groups");
  need_groups("channels", in[1], 0, groups);
  bool fits = weights.size() == in.size() && weights[1] == in[1] / groups;
  for (size_t d = 2; fits && d < weights.size(); ++d) fits = weights[d] > 0;
  if (!fits) {
    reject_conv(call, 1,
                text("{co, ", in[1] / groups, "} and the extents of a window along each of ",
                     in.size() - 2, " dimensions"));
  }
  need_groups("output channels", weights[0], 1, groups);
  if (call.inputs.size() > 2 && call.inputs[2].shape != Shape{weights[0]}) {
    reject_conv(call, 2, to_string(Shape{weights[0]}));
  }
  Shape expected{in[0], weights[0]};
  for (int64_t places : conv_windows(call).places) expected.push_back(places);
  need_output_shape("conv", call, {expected});
}

using Pair = std::vector<double>;

// The parameters of conv2d for the last two dimensions.
Params plane_params(const Call& call, const ConvWindows& windows) {
  const auto last = [&](const std::vector<int64_t>& all, int64_t missing, size_t from_end) {
    return static_cast<double>(all.size() < from_end ? missing : all[all.size() - from_end]);
  };
  const auto pair = [&](const std::vector<int64_t>& all, int64_t missing) {
    return Pair{last(all, missing, 2), last(all, missing, 1)};
  };
  Pair pad = pair(windows.low, 0);
  for (double edge : pair(windows.high, 0)) pad.push_back(edge);
  return {{"stride", pair(windows.stride, 1)},
          {"dilation", pair(windows.dilation, 1)},
          {"pad", pad},
          {"groups", call.integer("groups")}};
}

// {n, c, l} as {n, c, 1, l}.
TensorType as_planes(TensorType type) {
  if (type.shape.size() == 3) type.shape.insert(type.shape.begin() + 2, 1);
  return type;
}

std::vector<Operand> conv_operands(const Call& call) {
  std::vector<Operand> operands;
  for (size_t i = 0; i < call.inputs.size(); ++i) operands.push_back(input(static_cast<int>(i)));
  return operands;
}

KernelStep depth_step(Planner& planner, DType dtype, DepthView view, Operand target) {
  const auto program = planner.program(text("conv depth ", size_of(dtype)), [&] {
    return ProgramSource{{{"T", unsigned_name(size_of(dtype))}}, {{"nn/conv/depth.cl"}}};
  });
  Range range;
  if (planner.cpu_class()) {
    const int64_t enough = std::max<int64_t>(1, kDepthElements / view.plane);
    view.chunk = std::max(enough, ceil_div(view.planes, planner.busy_groups()));
    range.global[0] = static_cast<size_t>(ceil_div(view.planes, view.chunk));
  } else {
    range = item_per_result(planner, view.planes * view.plane);
  }
  return {program, "conv_depth", {input(0), target, value(view)}, range};
}

Launch plan_volumes(const Descriptor& conv2d, const Descriptor& transpose, const Call& call,
                    Planner& planner) {
  const ConvWindows windows = conv_windows(call);
  const Shape& in = call.inputs[0].shape;
  const Shape& weights = call.inputs[1].shape;
  const DType dtype = call.output.dtype;
  DepthView view;
  view.channels = in[1];
  view.layers = in[2];
  view.places = windows.places[0];
  view.size = weights[2];
  view.stride = windows.stride[0];
  view.dilation = windows.dilation[0];
  view.low = windows.low[0];
  view.plane = in[3] * in[4];
  view.planes = in[0] * view.places * view.channels * view.size;

  Launch launch;
  const int64_t batch = in[0] * view.places;
  const TensorType layers{dtype, {batch, in[1] * view.size, in[3], in[4]}};
  const Operand gathered = add_scratch(launch, layers);
  launch.steps.push_back(depth_step(planner, dtype, view, gathered));
  launch.work += 2.0 * static_cast<double>(layers.bytes());

  const Shape& places = windows.places;
  std::vector<TensorType> inputs = call.inputs;
  inputs[0] = layers;
  inputs[1].shape = {weights[0], weights[1] * view.size, weights[3], weights[4]};
  std::vector<Operand> operands = conv_operands(call);
  operands[0] = gathered;
  const TensorType planes{dtype, {batch, weights[0], places[1], places[2]}};
  const Operand convolved = add_scratch(launch, planes);
  append_call(launch, planner, conv2d, inputs, planes, plane_params(call, windows), operands,
              convolved);

  const TensorType moved{dtype, {in[0], view.places, weights[0], places[1] * places[2]}};
  const TensorType volumes{dtype, {in[0], weights[0], view.places, places[1] * places[2]}};
  append_call(launch, planner, transpose, {moved}, volumes, {{"axes", Pair{0, 2, 1, 3}}},
              {convolved}, output());
  return launch;
}

Launch plan_conv(const Descriptor& conv2d, const Descriptor& transpose, const Call& call,
                 Planner& planner) {
  planner.need_arithmetic("conv", call);
  Launch launch;
  if (call.output.count() == 0) return launch;
  if (call.inputs[0].shape.size() == 5) return plan_volumes(conv2d, transpose, call, planner);
  std::vector<TensorType> inputs = call.inputs;
  for (size_t i = 0; i < 2; ++i) inputs[i] = as_planes(inputs[i]);
  append_call(launch, planner, conv2d, inputs, as_planes(call.output),
              plane_params(call, conv_windows(call)), conv_operands(call), output());
  return launch;
}

}  // namespace

Descriptor conv_kernel() {
  Descriptor conv;
  conv.name = "conv";
  conv.summary =
      "The convolution of x {n, c, ...} with weights {co, c / groups, ...} over one to three "
      "dimensions, plus a bias {co} if given as input 2. The filter is not flipped.";
  conv.inputs = 2;
  conv.optional_inputs = 1;
  conv.dtypes = kFloatDTypes;
  conv.output_rule =
      "the inputs' element type, {n, co, ...} with (d + low + high - (k - 1) * dilation - 1) / "
      "stride + 1 for a dimension d and the extent k of the weights along it";
  conv.params = {
      per_dimension_param("stride", 1, 1, kFarthestConv,
                          "the distance between windows: one number, or one per dimension"),
      per_dimension_param("low", 0, 0, kFarthestConv,
                          "zeros in front of the first element: one number, or one per dimension"),
      per_dimension_param("high", 0, 0, kFarthestConv, "the same behind the last element"),
      per_dimension_param(
          "dilation", 1, 1, kFarthestConv,
          "the distance between the elements of a window: one number, or one per dimension"),
      groups_param()};
  conv.check = check_conv;
  conv.plan = [conv2d = conv2d_kernel(), transpose = transpose_kernel()](const Call& call,
                                                                         Planner& planner) {
    return plan_conv(conv2d, transpose, call, planner);
  };
  conv.sample = [](DType dtype) {
    const TensorType one{dtype, {1, 1, 1}};
    return Call{{one, one}, one, {}};
  };
  return conv;
}

}  // namespace dala
