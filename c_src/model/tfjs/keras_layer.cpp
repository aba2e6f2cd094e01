#include "model/tfjs/keras_layer.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "model/channels_last.hpp"
#include "model/tensorflow.hpp"
#include "runtime/error.hpp"

namespace dala::model::tfjs {
namespace {

using channels_last::WeightOrder;
using channels_last::Window;

[[noreturn]] void reject(const std::string& problem) {
  throw Error(Reason::invalid_model, problem);
}

[[noreturn]] void unsupported(const std::string& what) {
  throw Error(Reason::unsupported_op, what);
}

TensorId clipped(GraphBuilder& builder, TensorId x, double low, double high) {
  return builder.add("Clip", {x}, {{"min", attr::real(low)}, {"max", attr::real(high)}});
}

TensorId activated(GraphBuilder& builder, TensorId x, const std::string& name) {
  static const std::map<std::string, const char*> plain{
      {"relu", "Relu"}, {"sigmoid", "Sigmoid"},   {"tanh", "Tanh"},
      {"elu", "Elu"},   {"selu", "Selu"},         {"softplus", "Softplus"},
      {"gelu", "Gelu"}, {"softsign", "Softsign"}, {"mish", "Mish"}};
  if (name.empty() || name == "linear") return x;
  if (const auto found = plain.find(name); found != plain.end()) {
    return builder.add(found->second, {x});
  }
  if (name == "relu6") return clipped(builder, x, 0, 6);
  if (name == "softmax") return builder.add("Softmax", {x}, {{"axis", attr::integer(-1)}});
  if (name == "log_softmax") return builder.add("LogSoftmax", {x}, {{"axis", attr::integer(-1)}});
  if (name == "gelu_new") return builder.add("Gelu", {x}, {{"approximate", attr::text("tanh")}});
  if (name == "hard_sigmoid") {
    return builder.add("HardSigmoid", {x}, {{"alpha", attr::real(0.2)}, {"beta", attr::real(0.5)}});
  }
  if (name == "swish") {
    return builder.add("Mul", {x, builder.add("Sigmoid", {x})});
  }
  unsupported("the activation " + name);
}

KerasValue finished(const KerasCall& call, TensorId x, int64_t rank) {
  return {activated(call.builder, x, call.layer.text("activation", "linear")), rank};
}

void need_rank(const KerasCall& call, int64_t rank) {
  if (call.in().rank == rank) return;
  reject(text("the input has ", call.in().rank, " dimensions, expected ", rank));
}

void need_channels_last(const KerasCall& call) {
  if (call.layer.text("data_format", "channels_last") != "channels_last") {
    unsupported("channels first");
  }
}

// The bias, if the layer has one. A layer around another has the weights of that one.
TensorId bias_of(const KerasCall& call, const KerasConfig& layer) {
  return layer.flag("use_bias", true) ? call.weight("bias") : kNone;
}
TensorId bias_of(const KerasCall& call) { return bias_of(call, call.layer); }

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
  need_channels_last(call);
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
TensorId as_plane(const KerasCall& call, HostTensorPtr weights) {
  if (weights == nullptr) reject("the weight kernel is missing");
  auto plane = std::make_shared<HostTensor>(*weights);
  if (plane->shape.size() == 3) plane->shape.insert(plane->shape.begin(), 1);
  return call.builder.constant(std::move(plane));
}

KerasValue convolution(const KerasCall& call, bool sequence) {
  need_rank(call, sequence ? 3 : 4);
  const Window window = window_of(call, sequence, nullptr);
  if (call.layer.integer("groups", 1) != 1) unsupported("several groups");
  GraphBuilder& builder = call.builder;
  const TensorId x = sequence ? with_row(builder, call.in().tensor) : call.in().tensor;
  const TensorId y =
      channels_last::convolution(builder, x, as_plane(call, call.find_weight("kernel")),
                                 WeightOrder::hwio, bias_of(call), window, 1, {});
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
  need_rank(call, 4);
  const Window window = window_of(call, false, nullptr);
  need_no_dilation(window);
  return finished(call, depthwise(call, bias_of(call), window), 4);
}

KerasValue separable_conv2d(const KerasCall& call) {
  need_rank(call, 4);
  const TensorId between = depthwise(call, kNone, window_of(call, false, nullptr));
  return finished(call,
                  channels_last::convolution(call.builder, between, call.weight("pointwise_kernel"),
                                             WeightOrder::hwio, bias_of(call), {}, 1, {}),
                  4);
}

KerasValue conv2d_transpose(const KerasCall& call) {
  need_rank(call, 4);
  const Window window = window_of(call, false, nullptr);
  need_no_dilation(window);
  const auto size = call.layer.pair("kernel_size", 1);
  const bool gaps = size[0] < window.stride[0] || size[1] < window.stride[1];
  if (call.layer.find("output_padding") != nullptr || (!window.same && gaps)) {
    unsupported("output padding, or gaps between windows without padding");
  }
  return finished(
      call,
      channels_last::transposed_convolution(call.builder, call.in().tensor, call.weight("kernel"),
                                            WeightOrder::hwio, bias_of(call), {}, window, {}),
      4);
}

KerasValue pool(const KerasCall& call, bool sequence, bool largest) {
  need_rank(call, sequence ? 3 : 4);
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
  need_channels_last(call);
  std::vector<int64_t> axes;
  for (int64_t d = 1; d + 1 < call.in().rank; ++d) axes.push_back(d);
  if (call.layer.flag("keepdims", false)) unsupported("keepdims");
  return {
      tensorflow::reduce(call.builder, op, call.in().tensor, call.builder.integers(axes), false),
      2};
}

KerasValue global_average_pool(const KerasCall& call) { return global_pool(call, "ReduceMean"); }
KerasValue global_max_pool(const KerasCall& call) { return global_pool(call, "ReduceMax"); }

// The options of `layer`, which may be inside of another one.
KerasValue dense(const KerasCall& call, const KerasConfig& layer) {
  TensorId y = call.builder.add("MatMul", {call.in().tensor, call.weight("kernel")});
  const TensorId bias = bias_of(call, layer);
  if (bias != kNone) y = call.builder.add("Add", {y, bias});
  return {activated(call.builder, y, layer.text("activation", "linear")), call.in().rank};
}

KerasValue plain_dense(const KerasCall& call) { return dense(call, call.layer); }

// The axes that an option lists, counted from the first one; the last axis if it is absent.
std::vector<int64_t> axes_of(const KerasCall& call) {
  std::vector<int64_t> axes = call.layer.integers("axis");
  if (axes.empty()) axes = {-1};
  for (int64_t& axis : axes) {
    if (axis < 0) axis += call.in().rank;
    if (axis < 1 || axis >= call.in().rank) reject("axis is not an axis of the input");
  }
  return axes;
}

// (x - mean) / sqrt(variance + epsilon) * gamma + beta along the last axis.
KerasValue batch_normalization(const KerasCall& call) {
  const std::vector<int64_t> axes = axes_of(call);
  const int64_t rank = call.in().rank;
  if (axes != std::vector<int64_t>{rank - 1}) unsupported("another axis than the last");
  const HostTensorPtr mean = call.find_weight("moving_mean");
  const HostTensorPtr variance = call.find_weight("moving_variance");
  if (mean == nullptr || variance == nullptr || mean->shape != variance->shape ||
      mean->shape.size() != 1) {
    reject("the weights moving_mean and moving_variance are missing or do not fit");
  }
  const auto filled = [&](const char* option, const char* name, double value) -> HostTensorPtr {
    if (call.layer.flag(option, true)) {
      HostTensorPtr found = call.find_weight(name);
      if (found == nullptr || found->shape != mean->shape) {
        reject(text("the weight ", name, " is missing or has another shape"));
      }
      return found;
    }
    auto tensor = std::make_shared<HostTensor>(ElementType::f32, mean->shape);
    for (int64_t i = 0; i < tensor->count(); ++i) tensor->set(i, value);
    return tensor;
  };
  GraphBuilder& builder = call.builder;
  const std::vector<HostTensorPtr> params{filled("scale", "gamma", 1), filled("center", "beta", 0),
                                          mean, variance};
  const double epsilon = call.layer.real("epsilon", 1e-3);
  if (rank == 4) {
    std::vector<TensorId> inputs{channels_last::to_planes(builder, call.in().tensor)};
    for (const HostTensorPtr& each : params) inputs.push_back(builder.constant(each));
    const TensorId y =
        builder.add("BatchNormalization", inputs, {{"epsilon", attr::real(epsilon)}});
    return {channels_last::from_planes(builder, y), rank};
  }
  auto factor = std::make_shared<HostTensor>(ElementType::f32, mean->shape);
  auto shift = std::make_shared<HostTensor>(ElementType::f32, mean->shape);
  for (int64_t i = 0; i < mean->count(); ++i) {
    const double each = params[0]->number(i) / std::sqrt(variance->number(i) + epsilon);
    factor->set(i, each);
    shift->set(i, params[1]->number(i) - mean->number(i) * each);
  }
  const TensorId scaled = builder.add("Mul", {call.in().tensor, builder.constant(factor)});
  return {builder.add("Add", {scaled, builder.constant(shift)}), rank};
}

KerasValue layer_normalization(const KerasCall& call) {
  const std::vector<int64_t> axes = axes_of(call);
  const int64_t rank = call.in().rank;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != rank - static_cast<int64_t>(axes.size() - i)) {
      unsupported("other axes than the last ones");
    }
  }
  GraphBuilder& builder = call.builder;
  const bool scale = call.layer.flag("scale", true);
  std::vector<TensorId> inputs{call.in().tensor, scale ? call.weight("gamma") : builder.scalar(1)};
  if (call.layer.flag("center", true)) inputs.push_back(call.weight("beta"));
  return {builder.add("LayerNormalization", inputs,
                      {{"axis", attr::integer(axes[0])},
                       {"epsilon", attr::real(call.layer.real("epsilon", 1e-3))}}),
          rank};
}

KerasValue activation(const KerasCall& call) {
  return finished(call, call.in().tensor, call.in().rank);
}

KerasValue relu(const KerasCall& call) {
  GraphBuilder& builder = call.builder;
  if (call.layer.real("threshold", 0) != 0) unsupported("a threshold");
  if (call.layer.real("negative_slope", 0) != 0) unsupported("a slope");
  TensorId y = builder.add("Relu", {call.in().tensor});
  if (call.layer.find("max_value") != nullptr) {
    y = builder.add("Clip", {y}, {{"max", attr::real(call.layer.real("max_value", 0))}});
  }
  return {y, call.in().rank};
}

KerasValue leaky_relu(const KerasCall& call) {
  if (call.layer.find("negative_slope") != nullptr) unsupported("the option negative_slope");
  const double alpha = call.layer.real("alpha", 0.3);
  return {call.builder.add("LeakyRelu", {call.in().tensor}, {{"alpha", attr::real(alpha)}}),
          call.in().rank};
}

KerasValue elu(const KerasCall& call) {
  if (call.layer.real("alpha", 1) != 1) unsupported("another alpha than 1");
  return {call.builder.add("Elu", {call.in().tensor}), call.in().rank};
}

KerasValue prelu(const KerasCall& call) {
  return {call.builder.add("PRelu", {call.in().tensor, call.weight("alpha")}), call.in().rank};
}

KerasValue softmax(const KerasCall& call) {
  if (axes_of(call) != std::vector<int64_t>{call.in().rank - 1}) {
    unsupported("another axis than the last");
  }
  return {call.builder.add("Softmax", {call.in().tensor}, {{"axis", attr::integer(-1)}}),
          call.in().rank};
}

KerasValue identity(const KerasCall& call) { return call.in(); }

KerasValue flatten(const KerasCall& call) {
  need_channels_last(call);
  return {call.builder.add("Flatten", {call.in().tensor}, {{"axis", attr::integer(1)}}), 2};
}

KerasValue reshape(const KerasCall& call) {
  const Json* target = call.layer.find("target_shape");
  if (target == nullptr) reject("target_shape is missing");
  std::vector<int64_t> shape{0};  // the batch
  for (const Json& each : target->list("target_shape")) {
    shape.push_back(each.is_null() ? -1 : each.integer("target_shape"));
  }
  return {call.builder.reshape(call.in().tensor, shape), static_cast<int64_t>(shape.size())};
}

KerasValue permute(const KerasCall& call) {
  std::vector<int64_t> order = call.layer.integers("dims");
  order.insert(order.begin(), 0);
  return {call.builder.transpose(call.in().tensor, order), call.in().rank};
}

KerasValue repeat_vector(const KerasCall& call) {
  need_rank(call, 2);
  GraphBuilder& builder = call.builder;
  const TensorId row = builder.add("Unsqueeze", {call.in().tensor, builder.integers({1})});
  return {builder.add("Tile", {row, builder.integers({1, call.layer.integer("n", 1), 1})}), 3};
}

KerasValue concatenate(const KerasCall& call) {
  std::vector<TensorId> parts;
  for (const KerasValue& each : call.inputs) parts.push_back(each.tensor);
  return {
      call.builder.add("Concat", parts, {{"axis", attr::integer(call.layer.integer("axis", -1))}}),
      call.in().rank};
}

// An input of fewer axes gets axes of size 1 after the batch.
KerasValue merged(const KerasCall& call, const char* op) {
  GraphBuilder& builder = call.builder;
  int64_t rank = 0;
  for (const KerasValue& each : call.inputs) rank = std::max(rank, each.rank);
  const auto widened = [&](const KerasValue& value) {
    std::vector<int64_t> axes;
    for (int64_t d = value.rank; d < rank; ++d) axes.push_back(1 + d - value.rank);
    return axes.empty() ? value.tensor
                        : builder.add("Unsqueeze", {value.tensor, builder.integers(axes)});
  };
  TensorId result = widened(call.in());
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    result = builder.add(op, {result, widened(call.inputs[i])});
  }
  return {result, rank};
}

KerasValue add(const KerasCall& call) { return merged(call, "Add"); }
KerasValue multiply(const KerasCall& call) { return merged(call, "Mul"); }
KerasValue maximum(const KerasCall& call) { return merged(call, "Max"); }
KerasValue minimum(const KerasCall& call) { return merged(call, "Min"); }
KerasValue average(const KerasCall& call) {
  const KerasValue sum = merged(call, "Add");
  const double share = 1.0 / static_cast<double>(call.inputs.size());
  return {call.builder.add("Mul", {sum.tensor, call.builder.scalar(share)}), sum.rank};
}

// Two numbers, or pairs of numbers, around each spatial axis: {{top, bottom}, {left, right}}.
std::array<int64_t, 4> around(const KerasCall& call, const char* key) {
  const Json* given = call.layer.find(key);
  if (given == nullptr) return {1, 1, 1, 1};
  std::array<int64_t, 4> result{};
  if (!given->is_number() && given->list(key).size() != 2) {
    reject(text(key, " has ", given->list(key).size(), " values, expected 2"));
  }
  for (size_t d = 0; d < 2; ++d) {
    const Json& axis = given->is_number() ? *given : given->list(key)[d];
    if (axis.is_number()) {
      result[2 * d] = result[2 * d + 1] = axis.integer(key);
      continue;
    }
    const Json::List& both = axis.list(key);
    if (both.size() != 2) reject(text(key, " has ", both.size(), " values, expected 2"));
    for (size_t i = 0; i < 2; ++i) result[2 * d + i] = both[i].integer(key);
  }
  for (int64_t value : result) {
    if (value < 0 || value > (1 << 20)) {
      reject(text(key, " has the value ", value, ", expected 0 to ", 1 << 20));
    }
  }
  return result;
}

KerasValue zero_padding2d(const KerasCall& call) {
  need_rank(call, 4);
  need_channels_last(call);
  const auto pads = around(call, "padding");
  return {call.builder.add(
              "Pad", {call.in().tensor,
                      call.builder.integers({0, pads[0], pads[2], 0, 0, pads[1], pads[3], 0})}),
          4};
}

KerasValue cropping2d(const KerasCall& call) {
  need_rank(call, 4);
  need_channels_last(call);
  const auto crops = around(call, "cropping");
  const auto end = [](int64_t crop) { return crop == 0 ? int64_t{1} << 40 : -crop; };
  GraphBuilder& builder = call.builder;
  return {builder.add("Slice",
                      {call.in().tensor, builder.integers({crops[0], crops[2]}),
                       builder.integers({end(crops[1]), end(crops[3])}), builder.integers({1, 2})}),
          4};
}

KerasValue up_sampling2d(const KerasCall& call) {
  need_rank(call, 4);
  need_channels_last(call);
  const auto size = call.layer.pair("size", 2);
  const std::string how = call.layer.text("interpolation", "nearest");
  if (how != "nearest" && how != "bilinear") unsupported("interpolation " + how);
  auto scales = std::make_shared<HostTensor>(ElementType::f32, Shape{4});
  for (int64_t i = 0; i < 4; ++i) {
    scales->set(i, i < 2 ? 1 : static_cast<double>(size[static_cast<size_t>(i - 2)]));
  }
  GraphBuilder& builder = call.builder;
  const TensorId y = builder.add(
      "Resize",
      {channels_last::to_planes(builder, call.in().tensor), kNone, builder.constant(scales)},
      {{"mode", attr::text(how == "nearest" ? "nearest" : "linear")},
       {"nearest_mode", attr::text("floor")},
       {"coordinate_transformation_mode", attr::text("asymmetric")}});
  return {channels_last::from_planes(builder, y), 4};
}

KerasValue embedding(const KerasCall& call) {
  if (call.layer.flag("mask_zero", false)) unsupported("masks");
  const TensorId indices = call.builder.cast(call.in().tensor, ElementType::i64);
  return {call.builder.add("Gather", {call.weight("embeddings"), indices}), call.in().rank + 1};
}

// The gates of Keras in the order of ONNX: LSTM i, f, c, o to i, o, f, c; GRU z, r, h is the same.
std::vector<int64_t> gate_order(int64_t gates) {
  if (gates == 4) return {0, 3, 1, 2};
  if (gates == 3) return {0, 1, 2};
  return {0};
}

std::string onnx_activation(const std::string& name) {
  static const std::map<std::string, const char*> known{
      {"tanh", "Tanh"},     {"sigmoid", "Sigmoid"},
      {"relu", "Relu"},     {"hard_sigmoid", "HardSigmoid"},
      {"linear", "Affine"}, {"softsign", "Softsign"},
      {"elu", "Elu"},       {"softplus", "Softplus"}};
  const auto found = known.find(name);
  if (found == known.end()) unsupported("the activation " + name);
  return found->second;
}

struct Cell {
  std::string op;
  int64_t gates = 1;
};

Cell cell_of(const std::string& kind) {
  if (kind == "LSTM") return {"LSTM", 4};
  if (kind == "GRU") return {"GRU", 3};
  if (kind == "SimpleRNN") return {"RNN", 1};
  unsupported("a recurrent layer of class " + kind);
}

// Weights {rows, gates * units} of all directions as {directions, gates * units, rows}.
TensorId turned(const KerasCall& call, const std::vector<HostTensorPtr>& each, int64_t gates,
                int64_t rows, int64_t units) {
  const auto directions = static_cast<int64_t>(each.size());
  auto all = std::make_shared<HostTensor>(ElementType::f32, Shape{directions, gates * units, rows});
  const std::vector<int64_t> order = gate_order(gates);
  float* to = all->data<float>();
  for (const HostTensorPtr& from : each) {
    for (int64_t g = 0; g < gates; ++g) {
      for (int64_t u = 0; u < units; ++u) {
        for (int64_t r = 0; r < rows; ++r) {
          *to++ = static_cast<float>(
              from->number(r * gates * units + order[static_cast<size_t>(g)] * units + u));
        }
      }
    }
  }
  return call.builder.constant(std::move(all));
}

// Biases {gates * units} as {directions, 2 * gates * units}, of which the second half is zero.
TensorId biases(const KerasCall& call, const std::vector<HostTensorPtr>& each, int64_t gates,
                int64_t units) {
  const int64_t width = gates * units;
  auto all = std::make_shared<HostTensor>(ElementType::f32,
                                          Shape{static_cast<int64_t>(each.size()), 2 * width});
  const std::vector<int64_t> order = gate_order(gates);
  for (size_t d = 0; d < each.size(); ++d) {
    for (int64_t i = 0; each[d] != nullptr && i < each[d]->count(); ++i) {
      const int64_t from = order[static_cast<size_t>(i / units)] * units + i % units;
      all->data<float>()[static_cast<int64_t>(d) * 2 * width + i] =
          static_cast<float>(each[d]->number(from));
    }
  }
  return call.builder.constant(std::move(all));
}

// One or both directions of a recurrent layer, whose configuration is `layer`.
KerasValue recurrence(const KerasCall& call, const KerasConfig& layer, bool both,
                      const std::string& merge) {
  need_rank(call, 3);
  const Cell cell = cell_of(layer.kind());
  const int64_t units = layer.integer("units", 0);
  if (units < 1) reject("units is missing");
  if (layer.flag("stateful", false) || layer.flag("return_state", false)) {
    unsupported("states that are kept or returned");
  }
  if (layer.flag("reset_after", false)) unsupported("reset_after");
  if (layer.flag("time_major", false)) unsupported("time_major");
  std::vector<HostTensorPtr> kernels;
  std::vector<HostTensorPtr> recurrent;
  std::vector<HostTensorPtr> offsets;
  const std::vector<std::string> parts =
      both ? std::vector<std::string>{"forward", "backward"} : std::vector<std::string>{""};
  for (const std::string& part : parts) {
    kernels.push_back(call.find_weight("kernel", part));
    recurrent.push_back(call.find_weight("recurrent_kernel", part));
    const bool biased = layer.flag("use_bias", true);
    offsets.push_back(biased ? call.find_weight("bias", part) : nullptr);
    if (biased && offsets.back() == nullptr) reject("the weight bias is missing");
  }
  const int64_t width = cell.gates * units;
  for (size_t d = 0; d < parts.size(); ++d) {
    const bool fits = kernels[d] != nullptr && recurrent[d] != nullptr &&
                      kernels[d]->shape.size() == 2 && kernels[d]->shape[1] == width &&
                      kernels[d]->shape == Shape{kernels[0]->shape[0], width} &&
                      recurrent[d]->shape == Shape{units, width} &&
                      (offsets[d] == nullptr || offsets[d]->count() == width);
    if (!fits) reject(text("the weights do not fit ", units, " units"));
  }
  std::vector<std::string> activations;
  for (size_t d = 0; d < parts.size(); ++d) {
    const std::string curve = onnx_activation(layer.text("activation", "tanh"));
    if (cell.gates > 1) {
      activations.push_back(onnx_activation(layer.text("recurrent_activation", "sigmoid")));
    }
    activations.push_back(curve);
    if (cell.gates == 4) activations.push_back(curve);
  }
  Attribute names;
  names.texts = activations;
  const bool backwards = layer.flag("go_backwards", false);
  if (both && backwards) unsupported("both directions backwards");
  GraphBuilder& builder = call.builder;
  const auto results = builder.add_many(
      cell.op,
      {call.in().tensor, turned(call, kernels, cell.gates, kernels[0]->shape[0], units),
       turned(call, recurrent, cell.gates, units, units), biases(call, offsets, cell.gates, units)},
      2,
      {{"hidden_size", attr::integer(units)},
       {"layout", attr::integer(1)},
       {"direction", attr::text(both        ? "bidirectional"
                                : backwards ? "reverse"
                                            : "forward")},
       {"activations", names}});
  const int64_t columns = static_cast<int64_t>(parts.size()) * units;
  // The last states {n, directions, units}, or the sequence {n, steps, directions, units}.
  const bool steps = layer.flag("return_sequences", false);
  if (both && merge != "concat") {
    static const std::map<std::string, const char*> ways{
        {"sum", "ReduceSum"}, {"mul", "ReduceProd"}, {"ave", "ReduceMean"}};
    const auto way = ways.find(merge);
    if (way == ways.end()) unsupported("merging directions by " + merge);
    return {tensorflow::reduce(builder, way->second, results[steps ? 0 : 1],
                               builder.integers({steps ? 2 : 1}), false),
            steps ? 3 : 2};
  }
  if (!steps) return {builder.reshape(results[1], {0, columns}), 2};
  const TensorId sequence = builder.reshape(results[0], {0, 0, columns});
  if (!backwards) return {sequence, 3};
  // Keras gives the steps in the order in which it runs them.
  return {builder.add("Slice",
                      {sequence, builder.integers({-1}), builder.integers({-(int64_t{1} << 40)}),
                       builder.integers({1}), builder.integers({-1})}),
          3};
}

KerasValue recurrent_layer(const KerasCall& call) {
  return recurrence(call, call.layer, false, "");
}

KerasValue bidirectional(const KerasCall& call) {
  const Json* inner = call.layer.find("layer");
  if (inner == nullptr) reject("there is no layer inside");
  if (call.layer.is_null("merge_mode")) unsupported("directions that are not merged");
  if (call.layer.find("backward_layer") != nullptr) unsupported("a layer for each direction");
  return recurrence(call, KerasConfig(*inner), true, call.layer.text("merge_mode", "concat"));
}

// A layer for each step. Dense and Activation apply to all axes but the last anyway.
KerasValue time_distributed(const KerasCall& call) {
  const Json* inner = call.layer.find("layer");
  if (inner == nullptr) reject("there is no layer inside");
  const KerasConfig layer(*inner);
  if (layer.kind() == "Activation" || layer.kind() == "Dropout") {
    return run_layer({call.builder, layer, call.weights, call.inputs});
  }
  if (layer.kind() != "Dense") unsupported("a layer of class " + layer.kind());
  return dense(call, layer);
}

const std::map<std::string, KerasValue (*)(const KerasCall&)>& layers() {
  static const std::map<std::string, KerasValue (*)(const KerasCall&)> all{
      {"Activation", activation},
      {"Add", add},
      {"AlphaDropout", identity},
      {"Average", average},
      {"AveragePooling1D", average_pool1d},
      {"AveragePooling2D", average_pool2d},
      {"BatchNormalization", batch_normalization},
      {"Bidirectional", bidirectional},
      {"Concatenate", concatenate},
      {"Conv1D", conv1d},
      {"Conv2D", conv2d},
      {"Conv2DTranspose", conv2d_transpose},
      {"Cropping2D", cropping2d},
      {"Dense", plain_dense},
      {"DepthwiseConv2D", depthwise_conv2d},
      {"Dropout", identity},
      {"ELU", elu},
      {"Embedding", embedding},
      {"Flatten", flatten},
      {"GRU", recurrent_layer},
      {"GaussianDropout", identity},
      {"GaussianNoise", identity},
      {"GlobalAveragePooling1D", global_average_pool},
      {"GlobalAveragePooling2D", global_average_pool},
      {"GlobalMaxPooling1D", global_max_pool},
      {"GlobalMaxPooling2D", global_max_pool},
      {"LSTM", recurrent_layer},
      {"LayerNormalization", layer_normalization},
      {"LeakyReLU", leaky_relu},
      {"MaxPooling1D", max_pool1d},
      {"MaxPooling2D", max_pool2d},
      {"Maximum", maximum},
      {"Minimum", minimum},
      {"Multiply", multiply},
      {"PReLU", prelu},
      {"Permute", permute},
      {"ReLU", relu},
      {"RepeatVector", repeat_vector},
      {"Reshape", reshape},
      {"SeparableConv2D", separable_conv2d},
      {"SimpleRNN", recurrent_layer},
      {"Softmax", softmax},
      {"SpatialDropout1D", identity},
      {"TimeDistributed", time_distributed},
      {"UpSampling2D", up_sampling2d},
      {"ZeroPadding2D", zero_padding2d},
  };
  return all;
}

}  // namespace

KerasConfig::KerasConfig(const Json& layer) {
  const Json* kind = layer.find("class_name");
  config_ = layer.find("config");
  if (kind == nullptr || config_ == nullptr) reject("a layer has no class_name or no config");
  kind_ = kind->text("class_name");
  const Json* name = config_->find("name");
  if (name == nullptr) name = layer.find("name");
  if (name != nullptr && name->is_text()) name_ = name->text("the name of a layer");
  if (name_.empty()) name_ = kind_;
}

const Json* KerasConfig::find(const char* key) const {
  const Json* found = config_->find(key);
  return found == nullptr || found->is_null() ? nullptr : found;
}

bool KerasConfig::is_null(const char* key) const {
  const Json* found = config_->find(key);
  return found != nullptr && found->is_null();
}

int64_t KerasConfig::integer(const char* key, int64_t fallback) const {
  const Json* found = find(key);
  if (found == nullptr) return fallback;
  const std::vector<int64_t> values = integers(key);
  if (values.size() != 1) reject(dala::text(key, " has ", values.size(), " values, expected 1"));
  return values[0];
}

double KerasConfig::real(const char* key, double fallback) const {
  const Json* found = find(key);
  return found == nullptr ? fallback : found->number(key);
}

bool KerasConfig::flag(const char* key, bool fallback) const {
  const Json* found = find(key);
  return found == nullptr ? fallback : found->boolean(key);
}

std::string KerasConfig::text(const char* key, const std::string& fallback) const {
  const Json* found = find(key);
  if (found == nullptr) return fallback;
  if (!found->is_text()) unsupported(dala::text(key, " that is not a name"));
  return found->text(key);
}

std::vector<int64_t> KerasConfig::integers(const char* key) const {
  const Json* found = find(key);
  if (found == nullptr) return {};
  if (found->is_number()) return {found->integer(key)};
  std::vector<int64_t> values;
  for (const Json& each : found->list(key)) values.push_back(each.integer(key));
  return values;
}

std::array<int64_t, 2> KerasConfig::pair(const char* key, int64_t fallback) const {
  const std::vector<int64_t> values = integers(key);
  if (values.empty()) return {fallback, fallback};
  if (values.size() > 2)
    reject(dala::text(key, " has ", values.size(), " values, expected 1 or 2"));
  const std::array<int64_t, 2> result{values.front(), values.back()};
  for (int64_t value : result) {
    if (value < 1 || value > (1 << 20)) {
      reject(dala::text(key, " has the value ", value, ", expected 1 to ", 1 << 20));
    }
  }
  return result;
}

HostTensorPtr KerasCall::find_weight(const std::string& suffix, const std::string& within) const {
  const std::string begin = layer.name() + "/";
  if (within.empty()) {
    if (const auto exact = weights.find(begin + suffix); exact != weights.end()) {
      return exact->second;
    }
  }
  // Files of Keras also have the names of cells after that of the layer, and the names of models
  // before it.
  HostTensorPtr result;
  for (const auto& [name, tensor] : weights) {
    if (name.rfind(begin, 0) != 0 && name.find("/" + begin) == std::string::npos) continue;
    if (name.substr(name.rfind('/') + 1) != suffix) continue;
    if (!within.empty() && name.find("/" + within) == std::string::npos) continue;
    if (result != nullptr) reject(text("there are several weights ", suffix));
    result = tensor;
  }
  return result;
}

TensorId KerasCall::weight(const std::string& suffix) const {
  HostTensorPtr found = find_weight(suffix);
  if (found == nullptr) reject(dala::text("the weight ", suffix, " is missing"));
  return builder.constant(std::move(found), layer.name() + "/" + suffix);
}

KerasValue run_layer(const KerasCall& call) {
  const auto found = layers().find(call.layer.kind());
  if (found == layers().end()) unsupported("");
  static const std::set<std::string> merging{"Add",     "Average", "Concatenate",
                                             "Maximum", "Minimum", "Multiply"};
  if (call.inputs.size() != 1 && merging.count(call.layer.kind()) == 0) {
    unsupported("several inputs");
  }
  return found->second(call);
}

std::vector<std::string> keras_layer_names() {
  std::vector<std::string> names;
  for (const auto& [name, build] : layers()) names.push_back(name);
  return names;
}

}  // namespace dala::model::tfjs
