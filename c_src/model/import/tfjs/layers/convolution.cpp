// Convolutions and pools. Layers over sequences run as those over planes with one row.
#include <utility>

#include "model/import/common/channels_last.hpp"
#include "model/import/common/tensorflow.hpp"
#include "model/import/tfjs/layers/table.hpp"

namespace dala::model::tfjs {
namespace {

using channels_last::WeightOrder;
using channels_last::Window;

void need_no_dilation(const Window& window) {
  // TF.js takes the option, and computes without it.
  if (window.dilation != std::array<int64_t, 2>{1, 1}) unsupported("dilation");
}

// {n, length, c} as {n, 1, length, c}, and back.
TensorId with_row(GraphBuilder& builder, TensorId x) {
  return builder.add("Unsqueeze", {x, builder.integers({1})});
}
TensorId without_row(GraphBuilder& builder, TensorId x) {
  return builder.add("Squeeze", {x, builder.integers({1})});
}

// Windows of layers over sequences have one number for each option, which is that of x.
Window window_of(const KerasCall& call, bool sequence, const char* size) {
  const auto pair = [&](const char* key, int64_t fallback) {
    std::array<int64_t, 2> values = call.layer.pair(key, fallback);
    if (sequence) values[0] = 1;
    return values;
  };
  call.need_channels_last();
  Window window;
  if (size != nullptr) window.size = pair(size, 2);
  window.stride = pair("strides", 1);
  // Pools step by their own size.
  if (size != nullptr && call.layer.find("strides") == nullptr) window.stride = window.size;
  window.dilation = pair("dilation_rate", 1);
  const std::string padding = call.layer.text("padding", "valid");
  window.same = padding == "same";
  if (padding != "same" && padding != "valid") unsupported("padding " + padding);
  return window;
}

// Weights of a layer over sequences {length, in, out} as {1, length, in, out}.
TensorId as_plane(const KerasCall& call, const HostTensorPtr& weights) {
  if (weights == nullptr) reject("the weight kernel is missing");
  auto plane = std::make_shared<HostTensor>(*weights);
  if (plane->shape.size() == 3) plane->shape.insert(plane->shape.begin(), 1);
  return call.builder.constant(std::move(plane));
}

KerasValue convolution(const KerasCall& call, bool sequence) {
  call.need_rank(sequence ? 3 : 4);
  const Window window = window_of(call, sequence, nullptr);
  if (call.layer.integer("groups", 1) != 1) unsupported("several groups");
  GraphBuilder& builder = call.builder;
  const TensorId x = sequence ? with_row(builder, call.in().tensor) : call.in().tensor;
  const TensorId y =
      channels_last::convolution(builder, x, as_plane(call, call.find_weight("kernel")),
                                 WeightOrder::hwio, call.bias_of(call.layer), window, 1, {});
  return finished(call, sequence ? without_row(builder, y) : y, call.in().rank);
}

KerasValue conv1d(const KerasCall& call) { return convolution(call, true); }
KerasValue conv2d(const KerasCall& call) { return convolution(call, false); }

// Weights {h, w, channels, multiplier}: TF.js does not write the multiplier of every layer.
TensorId depthwise(const KerasCall& call, TensorId bias, const Window& window) {
  const HostTensorPtr kernel = call.find_weight("depthwise_kernel");
  if (kernel == nullptr || kernel->shape.size() != 4) {
    reject("the weight depthwise_kernel is missing, or does not have 4 dimensions");
  }
  return channels_last::depthwise_convolution(call.builder, call.in().tensor,
                                              call.weight("depthwise_kernel"), WeightOrder::hwio,
                                              kernel->shape[3], bias, window, {});
}

KerasValue depthwise_conv2d(const KerasCall& call) {
  call.need_rank(4);
  const Window window = window_of(call, false, nullptr);
  need_no_dilation(window);
  return finished(call, depthwise(call, call.bias_of(call.layer), window), 4);
}

KerasValue separable_conv2d(const KerasCall& call) {
  call.need_rank(4);
  const TensorId between = depthwise(call, kNone, window_of(call, false, nullptr));
  return finished(
      call,
      channels_last::convolution(call.builder, between, call.weight("pointwise_kernel"),
                                 WeightOrder::hwio, call.bias_of(call.layer), {}, 1, {}),
      4);
}

KerasValue conv2d_transpose(const KerasCall& call) {
  call.need_rank(4);
  const Window window = window_of(call, false, nullptr);
  need_no_dilation(window);
  const auto size = call.layer.pair("kernel_size", 1);
  const bool gaps = size[0] < window.stride[0] || size[1] < window.stride[1];
  if (call.layer.find("output_padding") != nullptr || (!window.same && gaps)) {
    unsupported("output padding, or gaps between windows without padding");
  }
  return finished(call,
                  channels_last::transposed_convolution(call.builder, call.in().tensor,
                                                        call.weight("kernel"), WeightOrder::hwio,
                                                        call.bias_of(call.layer), {}, window, {}),
                  4);
}

KerasValue pool(const KerasCall& call, bool sequence, bool largest) {
  call.need_rank(sequence ? 3 : 4);
  GraphBuilder& builder = call.builder;
  const Window window = window_of(call, sequence, "pool_size");
  const TensorId x = sequence ? with_row(builder, call.in().tensor) : call.in().tensor;
  const TensorId y = largest ? channels_last::max_pool(builder, x, window, {})
                             : channels_last::average_pool(builder, x, window, {});
  return {sequence ? without_row(builder, y) : y, call.in().rank};
}

KerasValue max_pool1d(const KerasCall& call) { return pool(call, true, true); }
KerasValue max_pool2d(const KerasCall& call) { return pool(call, false, true); }
KerasValue average_pool1d(const KerasCall& call) { return pool(call, true, false); }
KerasValue average_pool2d(const KerasCall& call) { return pool(call, false, false); }

// Over all axes between the first and the last.
KerasValue global_pool(const KerasCall& call, const char* op) {
  call.need_channels_last();
  std::vector<int64_t> axes;
  for (int64_t d = 1; d + 1 < call.in().rank; ++d) axes.push_back(d);
  if (call.layer.flag("keepdims", false)) unsupported("keepdims");
  return {
      tensorflow::reduce(call.builder, op, call.in().tensor, call.builder.integers(axes), false),
      2};
}

KerasValue global_average_pool(const KerasCall& call) { return global_pool(call, "ReduceMean"); }
KerasValue global_max_pool(const KerasCall& call) { return global_pool(call, "ReduceMax"); }

}  // namespace

Layers convolution_layers() {
  return {
      {"AveragePooling1D", average_pool1d},
      {"AveragePooling2D", average_pool2d},
      {"Conv1D", conv1d},
      {"Conv2D", conv2d},
      {"Conv2DTranspose", conv2d_transpose},
      {"DepthwiseConv2D", depthwise_conv2d},
      {"GlobalAveragePooling1D", global_average_pool},
      {"GlobalAveragePooling2D", global_average_pool},
      {"GlobalMaxPooling1D", global_max_pool},
      {"GlobalMaxPooling2D", global_max_pool},
      {"MaxPooling1D", max_pool1d},
      {"MaxPooling2D", max_pool2d},
      {"SeparableConv2D", separable_conv2d},
  };
}

}  // namespace dala::model::tfjs
