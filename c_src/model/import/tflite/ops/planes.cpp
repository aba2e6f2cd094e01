// Spatial operators on {n, height, width, channels}: convolutions, pools, resizing.
#include "model/import/tflite/ops/planes.hpp"

#include "model/import/tflite/schema.hpp"
#include "model/import/tflite/table.hpp"

namespace dala::model::tflite {
namespace {

using channels_last::WeightOrder;
using channels_last::Window;

Window window_of(const OperatorInfo& op) {
  Window window;
  window.same = static_cast<Padding>(op.byte(option::kWindowPadding)) == Padding::same;
  window.stride = {op.integer(option::kWindowStrideH), op.integer(option::kWindowStrideW)};
  return window;
}

Window pool_window(const OpCall& call) {
  Window window = window_of(call.op);
  window.size = {call.integer(option::kPoolFilterHeight), call.integer(option::kPoolFilterWidth)};
  return window;
}

// The size of the channel axis, the last of four. Throws `invalid_model` for another rank.
int64_t channels_of(const TensorInfo& info) {
  if (info.shape.size() == 4) return info.shape[3];
  reject(text("\"", info.name, "\" has shape ", to_string(info.shape), ", expected 4 dimensions"));
}

void conv_2d(OpCall& call) { call.set(0, convolution(call, convolution_window(call.op))); }

void average_pool(OpCall& call) {
  call.set(0, channels_last::average_pool(call.builder, call.in(0), pool_window(call),
                                          call.epilogue(option::kPoolActivation)));
}

void max_pool(OpCall& call) {
  call.set(0, channels_last::max_pool(call.builder, call.in(0), pool_window(call),
                                      call.activation(option::kPoolActivation)));
}

// The square root of the mean of squares.
void l2_pool(OpCall& call) {
  GraphBuilder& builder = call.builder;
  const TensorId squares = builder.add("Mul", {call.in(0), call.in(0)});
  const TensorId means = channels_last::average_pool(builder, squares, pool_window(call), {});
  call.set(0, channels_last::with_epilogue(builder, builder.add("Sqrt", {means}),
                                           call.epilogue(option::kPoolActivation)));
}

// Inputs: the shape of the result, weights, x, and an optional bias.
void transpose_conv(OpCall& call) {
  const std::vector<int64_t> shape = call.builder.known_integers(call.in(0), "an output shape");
  if (shape.size() != 4) {
    reject(text("output shape is ", to_string(shape), ", expected 4 dimensions"));
  }
  call.set(0, channels_last::transposed_convolution(
                  call.builder, call.in(2), call.in(1), WeightOrder::ohwi, call.optional(3),
                  {shape[1], shape[2]}, window_of(call.op),
                  call.epilogue(option::kTransposeConvActivation)));
}

void resize_bilinear(OpCall& call) {
  channels_last::Resize how;
  how.align_corners = call.flag(option::kResizeBilinearAlignCorners);
  how.half_pixel_centers = call.flag(option::kResizeBilinearHalfPixelCenters);
  call.set(0, channels_last::resize(call.builder, call.in(0), call.in(1), how));
}

void resize_nearest(OpCall& call) {
  channels_last::Resize how;
  how.bilinear = false;
  how.align_corners = call.flag(option::kResizeNearestAlignCorners);
  how.half_pixel_centers = call.flag(option::kResizeNearestHalfPixelCenters);
  call.set(0, channels_last::resize(call.builder, call.in(0), call.in(1), how));
}

void depth_to_space(OpCall& call) {
  call.set(0, channels_last::depth_to_space(call.builder, call.in(0),
                                            call.integer(option::kSpaceDepthBlockSize)));
}

void space_to_depth(OpCall& call) {
  call.set(0, channels_last::space_to_depth(call.builder, call.in(0),
                                            call.integer(option::kSpaceDepthBlockSize)));
}

// The window spans `radius` channels on each side. ONNX divides alpha by the size of the window.
void local_response_normalization(OpCall& call) {
  const int64_t size = 2 * call.integer(option::kLrnRadius) + 1;
  const TensorId planes = channels_last::to_planes(call.builder, call.in(0));
  const TensorId y = call.builder.add(
      "LRN", {planes},
      {{"size", attr::integer(size)},
       {"bias", attr::real(call.real(option::kLrnBias))},
       {"alpha", attr::real(call.real(option::kLrnAlpha) * static_cast<double>(size))},
       {"beta", attr::real(call.real(option::kLrnBeta))}});
  call.set(0, channels_last::from_planes(call.builder, y));
}

// A custom operator of MediaPipe: a transposed convolution with a bias. Its options are three
// 32-bit integers: padding (1 is SAME, 2 is VALID), stride_w and stride_h.
void transpose_conv_bias(OpCall& call) {
  const Bytes options = call.op.custom_options;
  Window window;
  window.same = load<int32_t>(options, 0) == 1;
  window.stride = {load<int32_t>(options, 8), load<int32_t>(options, 4)};
  call.set(0, channels_last::transposed_convolution(call.builder, call.in(0), call.in(1),
                                                    WeightOrder::ohwi, call.optional(2), {}, window,
                                                    call.epilogue(option::kAbsent)));
}

}  // namespace

bool is_depthwise(const OperatorInfo& op) { return op.name == "DEPTHWISE_CONV_2D"; }

Window convolution_window(const OperatorInfo& op) {
  Window window = window_of(op);
  const bool depthwise = is_depthwise(op);
  const int dilation_w = depthwise ? static_cast<int>(option::kDepthwiseDilationW)
                                   : static_cast<int>(option::kConvDilationW);
  const int dilation_h = depthwise ? static_cast<int>(option::kDepthwiseDilationH)
                                   : static_cast<int>(option::kConvDilationH);
  window.dilation = {op.integer(dilation_h, 1), op.integer(dilation_w, 1)};
  return window;
}

TensorId convolution(const OpCall& call, const Window& window) {
  const TensorId x = call.in(0);
  const TensorId weights = call.in(1);
  if (is_depthwise(call.op)) {
    // Older files have no multiplier in the options; the shapes determine it.
    const int64_t in = channels_of(call.in_info(0));
    const int64_t out = channels_of(call.in_info(1));
    const int64_t multiplier =
        in > 0 && out % in == 0 ? out / in : call.integer(option::kDepthwiseMultiplier, 1);
    return channels_last::depthwise_convolution(call.builder, x, weights, WeightOrder::ohwi,
                                                multiplier, call.optional(2), window,
                                                call.epilogue(option::kDepthwiseActivation));
  }
  const int64_t in = channels_of(call.in_info(0));
  const int64_t each = channels_of(call.in_info(1));
  const int64_t groups = each > 0 && in % each == 0 ? in / each : 1;
  return channels_last::convolution(call.builder, x, weights, WeightOrder::ohwi, call.optional(2),
                                    window, groups, call.epilogue(option::kConvActivation));
}

Operators plane_operators() {
  return {
      {"AVERAGE_POOL_2D", average_pool, Keeps::values},
      {"CONV_2D", conv_2d, Keeps::itself},
      {"Convolution2DTransposeBias", transpose_conv_bias, Keeps::itself},
      {"DEPTHWISE_CONV_2D", conv_2d, Keeps::itself},
      {"DEPTH_TO_SPACE", depth_to_space, Keeps::values},
      {"L2_POOL_2D", l2_pool, Keeps::itself},
      {"LOCAL_RESPONSE_NORMALIZATION", local_response_normalization},
      {"MAX_POOL_2D", max_pool, Keeps::values},
      {"RESIZE_BILINEAR", resize_bilinear, Keeps::values},
      {"RESIZE_NEAREST_NEIGHBOR", resize_nearest, Keeps::values},
      {"SPACE_TO_DEPTH", space_to_depth, Keeps::values},
      {"TRANSPOSE_CONV", transpose_conv, Keeps::itself},
  };
}

}  // namespace dala::model::tflite
