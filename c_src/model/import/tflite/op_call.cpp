#include "model/import/tflite/op_call.hpp"

#include <cmath>

#include "model/import/tflite/schema.hpp"

namespace dala::model::tflite {
namespace {

using channels_last::Activation;

Activation activation_of(int64_t code) {
  switch (static_cast<ActivationFunction>(code)) {
    case ActivationFunction::none:
      return Activation::none;
    case ActivationFunction::relu:
      return Activation::relu;
    case ActivationFunction::relu_n1_to_1:
      return Activation::relu_n1_to_1;
    case ActivationFunction::relu6:
      return Activation::relu6;
    case ActivationFunction::tanh:
      return Activation::tanh;
    default:
      unsupported(text("the activation function ", code));
  }
}

// Rounds a bound within the slack to 0 or 6, the bounds of relu and relu6, which kernels can fuse.
double named_bound(double bound, double slack) {
  for (double named : {0.0, 6.0}) {
    if (std::fabs(bound - named) <= slack) return named;
  }
  return bound;
}

}  // namespace

TensorId OpCall::in(size_t index) const {
  if (has(index)) return inputs[index];
  reject(text("input ", index, " is missing"));
}

TensorId OpCall::raw(size_t index) const {
  const TensorInfo& info = in_info(index);
  const TensorId x = in(index);
  if (!info.quantized()) return x;
  if (info.quantization.scales.size() != 1) unsupported("an input with per-axis quantization");
  return builder.add(
      "QuantizeLinear",
      {x, builder.scalar(info.quantization.scale(0)),
       builder.scalar(static_cast<double>(info.quantization.zero_point(0)), info.type)});
}

void OpCall::set(size_t index, TensorId tensor) {
  if (index < outputs.size()) outputs[index] = tensor;
}

void OpCall::set_all(const std::vector<TensorId>& results) {
  for (size_t i = 0; i < results.size(); ++i) set(i, results[i]);
}

const TensorInfo& OpCall::in_info(size_t index) const {
  in(index);
  return file.tensors[static_cast<size_t>(op.inputs[index])];
}

const TensorInfo& OpCall::out_info(size_t index) const {
  if (index >= op.outputs.size()) {
    reject(text("output ", index, " is missing"));
  }
  return file.tensors[static_cast<size_t>(op.outputs[index])];
}

channels_last::Epilogue OpCall::activation(int activation_field) const {
  channels_last::Epilogue epilogue;
  epilogue.activation = activation_of(byte(activation_field));
  const TensorInfo& info = out_info(0);
  if (!is_float(info.type) && !info.quantized() && epilogue.activation != Activation::none) {
    unsupported("an activation on integers");
  }
  return epilogue;
}

channels_last::Epilogue OpCall::epilogue(int activation_field) const {
  channels_last::Epilogue epilogue = activation(activation_field);
  if (const auto range = range_of(out_info(0))) {
    epilogue.low = named_bound(range->low, range->slack);
    epilogue.high = named_bound(range->high, range->slack);
    // A bound just below 6 would add a second clamp after relu6.
    if (epilogue.activation == Activation::relu6 && epilogue.high < 6 &&
        epilogue.high + range->slack >= 6) {
      epilogue.high = 6;
    }
  }
  return epilogue;
}

std::optional<Range> range_of(const TensorInfo& tensor) {
  if (!tensor.quantized() || tensor.quantization.scales.size() != 1) return std::nullopt;
  double lowest = 0;
  double highest = 0;
  switch (tensor.type) {
    case ElementType::u8:
      highest = 255;
      break;
    case ElementType::i8:
      lowest = tensor.nibbles ? -8 : -128;
      highest = tensor.nibbles ? 7 : 127;
      break;
    case ElementType::i16:
      lowest = -32768;
      highest = 32767;
      break;
    default:
      return std::nullopt;
  }
  const double scale = tensor.quantization.scale(0);
  const auto zero = static_cast<double>(tensor.quantization.zero_point(0));
  return Range{scale * (lowest - zero), scale * (highest - zero), scale / 2};
}

}  // namespace dala::model::tflite
