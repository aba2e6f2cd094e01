// Convolutions, pools and resizing: what sees {n, height, width, channels}.
#include "model/tflite/ops/planes.hpp"

#include "model/tflite/ops/table.hpp"
#include "runtime/error.hpp"

namespace dala::model::tflite {
namespace {

using channels_last::WeightOrder;
using channels_last::Window;

// Fields of the options: padding (0 is SAME), stride_w, stride_h.
Window window_of(const OperatorInfo& op) {
  Window window;
  window.same = op.byte(0) == 0;
  window.stride = {op.integer(2), op.integer(1)};
  return window;
}

Window pool_window(const Call& call) {
  Window window = window_of(call.op);
  window.size = {call.integer(4), call.integer(3)};
  return window;
}

// The channels of the weights; none where they are not the last axis of four.
int64_t channels_of(const TensorInfo& info) {
  if (info.shape.size() == 4) return info.shape[3];
  throw Error(Reason::invalid_model, text("\"", info.name, "\" of shape ", to_string(info.shape)));
}

void conv_2d(Call& call) { call.set(0, convolution(call, convolution_window(call.op))); }

void average_pool(Call& call) {
  call.set(
      0, channels_last::average_pool(call.builder, call.in(0), pool_window(call), call.finish(5)));
}

void max_pool(Call& call) {
  call.set(
      0, channels_last::max_pool(call.builder, call.in(0), pool_window(call), call.activation(5)));
}

// The root of the mean of squares.
void l2_pool(Call& call) {
  GraphBuilder& builder = call.builder;
  const TensorId squares = builder.add("Mul", {call.in(0), call.in(0)});
  const TensorId means = channels_last::average_pool(builder, squares, pool_window(call), {});
  call.set(0, channels_last::finished(builder, builder.add("Sqrt", {means}), call.finish(5)));
}

// Inputs: the shape of the result, weights, x, and perhaps a bias.
void transpose_conv(Call& call) {
  const std::vector<int64_t> shape = call.builder.known_integers(call.in(0), "an output shape");
  if (shape.size() != 4) throw Error(Reason::invalid_model, "an output shape of not 4 dimensions");
  call.set(0, channels_last::transposed_convolution(
                  call.builder, call.in(2), call.in(1), WeightOrder::ohwi, call.optional(3),
                  {shape[1], shape[2]}, window_of(call.op), call.finish(3)));
}

void resize_bilinear(Call& call) {
  channels_last::Resize how;
  how.align_corners = call.flag(2);
  how.half_pixel_centers = call.flag(3);
  call.set(0, channels_last::resize(call.builder, call.in(0), call.in(1), how));
}

void resize_nearest(Call& call) {
  channels_last::Resize how;
  how.bilinear = false;
  how.align_corners = call.flag(0);
  how.half_pixel_centers = call.flag(1);
  call.set(0, channels_last::resize(call.builder, call.in(0), call.in(1), how));
}

void depth_to_space(Call& call) {
  call.set(0, channels_last::depth_to_space(call.builder, call.in(0), call.integer(0)));
}

void space_to_depth(Call& call) {
  call.set(0, channels_last::space_to_depth(call.builder, call.in(0), call.integer(0)));
}

// Over `radius` channels to each side. ONNX divides alpha by the size of the window.
void local_response_normalization(Call& call) {
  const int64_t size = 2 * call.integer(0) + 1;
  const TensorId planes = channels_last::to_planes(call.builder, call.in(0));
  const TensorId y =
      call.builder.add("LRN", {planes},
                       {{"size", attr::integer(size)},
                        {"bias", attr::real(call.real(1))},
                        {"alpha", attr::real(call.real(2) * static_cast<double>(size))},
                        {"beta", attr::real(call.real(3))}});
  call.set(0, channels_last::from_planes(call.builder, y));
}

// Of MediaPipe: a transposed convolution with a bias. Its options are three numbers of 32 bits,
// padding (1 is SAME, 2 VALID), stride_w and stride_h.
void transpose_conv_bias(Call& call) {
  const Bytes options = call.op.custom_options;
  Window window;
  window.same = load<int32_t>(options, 0) == 1;
  window.stride = {load<int32_t>(options, 8), load<int32_t>(options, 4)};
  call.set(0, channels_last::transposed_convolution(call.builder, call.in(0), call.in(1),
                                                    WeightOrder::ohwi, call.optional(2), {}, window,
                                                    call.finish(-1)));
}

}  // namespace

bool is_depthwise(const OperatorInfo& op) { return op.name == "DEPTHWISE_CONV_2D"; }

Window convolution_window(const OperatorInfo& op) {
  Window window = window_of(op);
  const int dilation = is_depthwise(op) ? 5 : 4;
  window.dilation = {op.integer(dilation + 1, 1), op.integer(dilation, 1)};
  return window;
}

TensorId convolution(const Call& call, const Window& window) {
  const TensorId x = call.in(0);
  const TensorId weights = call.in(1);
  if (is_depthwise(call.op)) {
    // Older files say nothing of the multiplier, which shapes tell.
    const int64_t in = channels_of(call.in_info(0));
    const int64_t out = channels_of(call.in_info(1));
    const int64_t multiplier = in > 0 && out % in == 0 ? out / in : call.integer(3, 1);
    return channels_last::depthwise_convolution(call.builder, x, weights, WeightOrder::ohwi,
                                                multiplier, call.optional(2), window,
                                                call.finish(4));
  }
  const int64_t in = channels_of(call.in_info(0));
  const int64_t each = channels_of(call.in_info(1));
  const int64_t groups = each > 0 && in % each == 0 ? in / each : 1;
  return channels_last::convolution(call.builder, x, weights, WeightOrder::ohwi, call.optional(2),
                                    window, groups, call.finish(3));
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
