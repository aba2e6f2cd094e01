#include <limits>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/gemm_tiles.hpp"
#include "kernels/nn/activation/activation.hpp"
#include "kernels/nn/conv/convolution.hpp"
#include "kernels/nn/nn.hpp"
#include "kernels/nn/winograd/winograd.hpp"

namespace dala {
namespace {

[[noreturn]] void reject_shape(size_t index, const Call& call, const std::string& expected) {
  throw Error(Reason::shape_mismatch,
              text("input ", index, " of conv2d has shape ", to_string(call.inputs[index].shape),
                   ", expected ", expected));
}

// The size of plain weights {co, c / groups, kh, kw} or packed ones {kh, kw, c / groups, columns}.
std::array<int64_t, 2> kernel_size(const Call& call) {
  const Shape& weights = call.inputs[1].shape;
  if (call.flag("winograd")) return {kWinogradWindow, kWinogradWindow};
  if (call.flag("packed")) return {weights[0], weights[1]};
  return {weights[2], weights[3]};
}

// The number of output channels. Packed weights do not determine it, so the output's shape does.
int64_t output_channels(const Call& call) {
  if (!call.flag("packed")) return call.inputs[1].shape[0];
  return planes_of(call.output.shape, is_nhwc(call)).channels;
}

void need_divisor(const char* what, int64_t channels, size_t index, int64_t groups) {
  if (channels % groups == 0) return;
  throw Error(Reason::invalid_param, text("groups of conv2d must divide the ", channels, " ", what,
                                          " of input ", index, ", got ", groups));
}

void check_plain(const Call& call, int64_t per_group, int64_t groups) {
  const Shape& weights = call.inputs[1].shape;
  if (weights.size() != 4 || weights[1] != per_group || weights[2] < 1 || weights[3] < 1) {
    reject_shape(1, call, text("{co, ", per_group, ", kh, kw}"));
  }
  need_divisor("output channels", weights[0], 1, groups);
}

void need_packable(const Call& call, int64_t groups) {
  if (!is_nhwc(call)) {
    throw Error(Reason::invalid_param, "packed of conv2d must be false when layout is nchw");
  }
  const Shape& output = call.output.shape;
  if (output.size() != 4 || output[3] % groups != 0) {
    throw Error(Reason::shape_mismatch,
                text("the output of conv2d has shape ", to_string(output),
                     ", expected {n, oh, ow, co} with co a multiple of the ", groups, " groups"));
  }
}

void check_packed(const Call& call, int64_t per_group, int64_t groups) {
  need_packable(call, groups);
  const Shape& output = call.output.shape;
  const Shape& weights = call.inputs[1].shape;
  const bool ranked = weights.size() == 4 && weights[0] > 0 && weights[1] > 0;
  Shape wanted;
  if (ranked) {
    wanted = packed_weights_shape({output[3], per_group, weights[0], weights[1]}, groups);
  }
  if (weights == wanted) return;
  const int64_t columns = packed_weights_shape({output[3], per_group, 1, 1}, groups).back();
  reject_shape(1, call,
               text("{kh, kw, ", per_group, ", ", columns, "} as returned by conv2d_pack"));
}

void check_winograd(const Call& call, int64_t channels) {
  const auto window = window_of("conv2d", call, kernel_size(call));
  const bool plain = window.stride_y == 1 && window.stride_x == 1 && window.dilation_y == 1 &&
                     window.dilation_x == 1 && call.integer("groups") == 1;
  if (!plain || !call.flag("packed")) {
    throw Error(Reason::invalid_param,
                "winograd of conv2d needs packed weights, and stride, dilation and groups of 1");
  }
  need_packable(call, 1);
  const int64_t outputs = output_channels(call);
  const Shape wanted =
      winograd_weights_shape({outputs, channels, kWinogradWindow, kWinogradWindow});
  if (call.inputs[1].shape != wanted) {
    reject_shape(1, call, text(to_string(wanted), " as returned by conv2d_pack with winograd"));
  }
}

void check_conv2d(const Call& call) {
  need_same_inputs("conv2d", call);
  need_output_dtype("conv2d", call, {call.inputs[0].dtype});
  need_planes("conv2d", call);
  check_activation("conv2d", call);
  const bool nhwc = is_nhwc(call);
  Planes planes = planes_of(call.inputs[0].shape, nhwc);
  const int64_t groups = call.integer("groups");
  need_divisor("channels", planes.channels, 0, groups);
  if (call.flag("winograd")) {
    check_winograd(call, planes.channels);
  } else if (call.flag("packed")) {
    check_packed(call, planes.channels / groups, groups);
  } else {
    check_plain(call, planes.channels / groups, groups);
  }
  planes.channels = output_channels(call);
  if (call.inputs.size() > 2 && call.inputs[2].shape != Shape{planes.channels}) {
    reject_shape(2, call, to_string(Shape{planes.channels}));
  }
  const Window window = window_of("conv2d", call, kernel_size(call));
  planes.height = window.out_height;
  planes.width = window.out_width;
  const Shape expected = shape_of(planes, nhwc);
  if (call.inputs.size() > 3 && call.inputs[3].shape != expected) {
    reject_shape(3, call, to_string(expected));
  }
  need_output_shape("conv2d", call, {expected});
}

Convolution convolution_of(const Call& call) {
  const bool nhwc = is_nhwc(call);
  const Planes planes = planes_of(call.inputs[0].shape, nhwc);
  Convolution conv;
  conv.window = window_of("conv2d", call, kernel_size(call));
  conv.groups = call.integer("groups");
  conv.slices = planes.batch * conv.groups;
  conv.in_channels = planes.channels / conv.groups;
  conv.out_channels = output_channels(call) / conv.groups;
  conv.has_bias = call.inputs.size() > 2 ? 1 : 0;
  conv.has_residual = call.inputs.size() > 3 ? 1 : 0;
  conv.curve = activation_of(call).curve;
  conv.nhwc = nhwc ? 1 : 0;
  conv.packed = call.flag("packed") ? 1 : 0;
  const Window& window = conv.window;
  conv.pointwise = window.size_y == 1 && window.size_x == 1 && window.stride_y == 1 &&
                           window.stride_x == 1 && window.out_height == window.height &&
                           window.out_width == window.width && window.pad_y == 0 &&
                           window.pad_x == 0
                       ? 1
                       : 0;
  set_columns(conv);
  return conv;
}

// Kernels for GPUs count pixels and products in 32 bits, except for the one for everything.
bool fits_32_bits(const Convolution& conv) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() / 2;
  const Window& window = conv.window;
  const int64_t reach_y = window.out_height * window.stride_y + window.size_y * window.dilation_y;
  const int64_t reach_x = window.out_width * window.stride_x + window.size_x * window.dilation_x;
  return products_of(conv) < kMost && pixels_of(conv) < kMost && reach_y < kMost &&
         reach_x < kMost && window.height * window.width < kMost && conv.groups < kMost;
}

// As a matrix product, for groups of so many channels that a tile is not mostly empty.
constexpr int64_t kLeastGemmChannels = 16;

std::string gpu_gemm(const Planner& planner, const Convolution& conv, const GemmTiles& tiles,
                     Range& range) {
  const int64_t batch = conv.slices / conv.groups;
  const int64_t rows = conv.nhwc != 0 ? batch * pixels_of(conv) : conv.out_channels;
  const int64_t columns = conv.nhwc != 0 ? conv.out_channels : pixels_of(conv);
  const int64_t matrices = conv.nhwc != 0 ? conv.groups : conv.slices;
  const bool large = suits_large_tiles(planner, tiles, rows, columns, matrices);
  const int64_t edge = (large ? 8 : 4) * tiles.side;
  const auto side = static_cast<size_t>(tiles.side);
  range.dimensions = 3;
  range.local = {side, side, 1};
  range.global = {static_cast<size_t>(ceil_div(columns, edge)) * side,
                  static_cast<size_t>(ceil_div(rows, edge)) * side, static_cast<size_t>(matrices)};
  return large ? "conv2d_8x8" : "conv2d_4x4";
}

// Four pixels of a row by each item and, channels last, of four channels.
int64_t depthwise_items(const Convolution& conv) {
  const int64_t batch = conv.slices / conv.groups;
  const int64_t channels = conv.nhwc != 0 ? ceil_div(conv.groups, 4) : conv.groups;
  return batch * channels * conv.window.out_height * ceil_div(conv.window.out_width, 4);
}

KernelStep gpu_step(Planner& planner, const Call& call, const Convolution& conv) {
  const DType dtype = call.output.dtype;
  const bool single = conv.window.size_y == 1 && conv.window.size_x == 1;
  const GemmTiles tiles = gemm_tiles(planner, size_of(dtype),
                                     single ? ShapeClass::conv_pointwise : ShapeClass::conv_window);
  std::string kernel = "conv2d";
  int64_t work_items = call.output.count();
  Range range;
  if (fits_32_bits(conv) && is_depthwise(conv)) {
    kernel = "depthwise";
    work_items = depthwise_items(conv);
  }
  if (fits_32_bits(conv) && conv.out_channels >= kLeastGemmChannels) {
    kernel = gpu_gemm(planner, conv, tiles, range);
  } else {
    const size_t items = planner.group_items(256);
    range.local[0] = items;
    range.global[0] =
        static_cast<size_t>(ceil_div(work_items, static_cast<int64_t>(items))) * items;
  }
  const Activation activation = activation_of(call);
  return {
      nn_program(planner, dtype, tiles),
      kernel,
      {input(0), input(1), input(conv.has_bias != 0 ? 2 : 1), input(conv.has_residual != 0 ? 3 : 0),
       output(), value(conv), number_of(call, activation.low), number_of(call, activation.high),
       number_of(call, activation.slope)},
      range};
}

Launch plan_conv2d(const Call& call, Planner& planner) {
  planner.need_arithmetic("conv2d", call);
  Launch launch;
  if (call.output.count() == 0) return launch;
  const Convolution conv = convolution_of(call);
  if (call.flag("winograd")) {
    plan_winograd(launch, planner, call, conv);
  } else if (!planner.cpu_class()) {
    launch.steps.push_back(gpu_step(planner, call, conv));
  } else if (conv.nhwc != 0) {
    plan_nhwc(launch, planner, call, conv);
  } else {
    plan_nchw(launch, planner, call, conv);
  }
  const double operations =
      2.0 * static_cast<double>(call.output.count()) * static_cast<double>(products_of(conv));
  launch.work = static_cast<double>(call.output.bytes()) + operations / 8;
  for (const TensorType& type : call.inputs) launch.work += static_cast<double>(type.bytes());
  return launch;
}

}  // namespace

Descriptor conv2d_kernel() {
  ParamSpec stride = pair_param("stride", "the distance between windows: one number, or {y, x}");
  stride.fallback = int64_t{1};
  ParamSpec dilation = pair_param(
      "dilation", "the distance between the elements of a window: one number, or {y, x}");
  dilation.fallback = int64_t{1};
  ParamSpec packed;
  packed.name = "packed";
  packed.kind = ParamSpec::Kind::flag;
  packed.fallback = false;
  packed.summary = "whether the weights are packed by conv2d_pack; layout nhwc only";

  Descriptor conv2d;
  conv2d.name = "conv2d";
  conv2d.summary =
      "The convolution of x {n, c, h, w} with weights {co, c / groups, kh, kw}, plus a bias {co} "
      "if given as input 2, plus a residual of the output's shape if given as input 3, before the "
      "activation.";
  conv2d.inputs = 2;
  conv2d.optional_inputs = 2;
  conv2d.dtypes = kFloatDTypes;
  conv2d.output_rule =
      "the inputs' element type and layout, {n, co, oh, ow} with oh = (h + padding - (kh - 1) * "
      "dilation - 1) / stride + 1, and ow likewise";
  conv2d.params = {stride, pad_param(), dilation, groups_param()};
  for (ParamSpec& param : activation_params()) conv2d.params.push_back(std::move(param));
  conv2d.params.push_back(layout_param());
  conv2d.params.push_back(packed);
  conv2d.params.push_back(winograd_param());
  conv2d.check = check_conv2d;
  conv2d.plan = plan_conv2d;
  return conv2d;
}

}  // namespace dala
