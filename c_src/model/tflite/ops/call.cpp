#include "model/tflite/ops/call.hpp"

#include <cmath>

#include "runtime/error.hpp"

namespace dala::model::tflite {
namespace {

using channels_last::Activation;

Activation activation_of(int64_t code) {
  switch (code) {
    case 0:
      return Activation::none;
    case 1:
      return Activation::relu;
    case 2:
      return Activation::relu_n1_to_1;
    case 3:
      return Activation::relu6;
    case 4:
      return Activation::tanh;
    default:
      Call::unsupported(text("activation ", code));
  }
}

// Bounds that everybody writes, and that kernels have names for, where nothing else is meant.
double named_bound(double bound, double slack) {
  for (double named : {0.0, 6.0}) {
    if (std::fabs(bound - named) <= slack) return named;
  }
  return bound;
}

}  // namespace

TensorId Call::in(size_t index) const {
  if (has(index)) return inputs[index];
  throw Error(Reason::invalid_model, text("there is no input ", index));
}

TensorId Call::raw(size_t index) const {
  const TensorInfo& info = in_info(index);
  const TensorId x = in(index);
  if (!info.quantized()) return x;
  if (info.quantization.scales.size() != 1) unsupported("integers with several scales");
  return builder.add(
      "QuantizeLinear",
      {x, builder.scalar(info.quantization.scale(0)),
       builder.scalar(static_cast<double>(info.quantization.zero_point(0)), info.type)});
}

void Call::set(size_t index, TensorId tensor) {
  if (index < outputs.size()) outputs[index] = tensor;
}

const TensorInfo& Call::in_info(size_t index) const {
  in(index);
  return file.tensors[static_cast<size_t>(op.inputs[index])];
}

const TensorInfo& Call::out_info(size_t index) const {
  if (index >= op.outputs.size()) {
    throw Error(Reason::invalid_model, text("there is no output ", index));
  }
  return file.tensors[static_cast<size_t>(op.outputs[index])];
}

channels_last::Finish Call::activation(int activation_field) const {
  channels_last::Finish finish;
  finish.activation = activation_of(byte(activation_field));
  const TensorInfo& info = out_info(0);
  if (!is_float(info.type) && !info.quantized() && finish.activation != Activation::none) {
    unsupported("an activation of integers");
  }
  return finish;
}

channels_last::Finish Call::finish(int activation_field) const {
  channels_last::Finish finish = activation(activation_field);
  if (const auto range = range_of(out_info(0))) {
    finish.low = named_bound(range->low, range->slack);
    finish.high = named_bound(range->high, range->slack);
    // What relu6 leaves out is not cut off once more.
    if (finish.activation == Activation::relu6 && finish.high < 6 &&
        finish.high + range->slack >= 6) {
      finish.high = 6;
    }
  }
  return finish;
}

void Call::unsupported(const std::string& what) { throw Error(Reason::unsupported_op, what); }

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
