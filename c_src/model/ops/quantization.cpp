// Quantized operators. Products of integers are computed in f32, where sums of products of bytes
// are exact up to 2^24 and rounded to 24 bits beyond.
#include "model/ops/families.hpp"
#include "model/ops/nn/convolution.hpp"

namespace dala::model {
namespace {

// Reshapes scales or zero points, one per tensor or one per index of the axis, to broadcast to x.
Tensor along(const Tensor& values, const Tensor& x, int64_t axis) {
  if (values.count() == 1) return Build::reshaped(values, {});
  if (values.rank() != 1 || axis < 0 || axis >= x.rank() || values.dim(0) != x.dim(axis)) {
    unsupported(text("blocked quantization is not supported: scales of shape ",
                     to_string(values.shape), " for shape ", to_string(x.shape)));
  }
  Shape shape(x.shape.size(), 1);
  shape[static_cast<size_t>(axis)] = x.dim(axis);
  return Build::reshaped(values, shape);
}

int64_t axis_of(const OpCall& call, const Tensor& x, const Tensor& scale) {
  return scale.count() == 1 ? 0 : call.axis(1, x.rank());
}

// round(x / scale) + zero point; the conversion saturates.
Tensor quantized(Build& build, const Tensor& x, const Tensor& scale, const Tensor* zero,
                 ElementType type) {
  Tensor y = pointwise(build, OP_ROUND, {pointwise(build, OP_DIV, {x, scale})});
  if (zero != nullptr) y = pointwise(build, OP_ADD, {y, convert(build, *zero, x.type)});
  return convert(build, y, type);
}

void quantize_linear(OpCall& call) {
  Build& build = call.build;
  const Tensor x = convert(build, call.in(0), ElementType::f32);
  const int64_t axis = axis_of(call, x, call.in(1));
  const Tensor scale = along(convert(build, call.in(1), ElementType::f32), x, axis);
  ElementType type = ElementType::u8;
  if (call.has(2)) type = call.in(2).type;
  if (!call.has(2) && call.integer("output_dtype", 0) != 0) {
    type = element_type(call.integer("output_dtype", 0));
  }
  if (call.has(2)) {
    const Tensor zero = along(call.in(2), x, axis);
    call.set(0, quantized(build, x, scale, &zero, type));
  } else {
    call.set(0, quantized(build, x, scale, nullptr, type));
  }
}

void dequantize_linear(OpCall& call) {
  Build& build = call.build;
  const Tensor& x = call.in(0);
  const int64_t axis = axis_of(call, x, call.in(1));
  const ElementType type = call.in(1).type;
  const Tensor scale = along(call.in(1), x, axis);
  Tensor wide = convert(build, x, ElementType::i32);
  if (call.has(2)) {
    const Tensor zero = convert(build, along(call.in(2), x, axis), ElementType::i32);
    wide = pointwise(build, OP_SUB, {wide, zero});
  }
  call.set(0, pointwise(build, OP_MUL, {convert(build, wide, type), scale}));
}

void dynamic_quantize_linear(OpCall& call) {
  Build& build = call.build;
  const Tensor& x = call.in(0);
  const auto all = normal_axes({}, x.rank());
  const Tensor nothing = scalar(build, x.type, 0);
  const Tensor low = pointwise(build, OP_MIN, {reduce(build, REDUCE_MIN, x, all, false), nothing});
  const Tensor high = pointwise(build, OP_MAX, {reduce(build, REDUCE_MAX, x, all, false), nothing});
  const Tensor scale =
      pointwise(build, OP_DIV, {pointwise(build, OP_SUB, {high, low}), scalar(build, x.type, 255)});
  const Tensor from = pointwise(build, OP_NEG, {pointwise(build, OP_DIV, {low, scale})});
  const Tensor zero = convert(build, pointwise(build, OP_ROUND, {from}), ElementType::u8);
  call.set(0, quantized(build, x, scale, &zero, ElementType::u8));
  call.set(1, scale);
  call.set(2, zero);
}

// Integers minus their zero point, as f32. Several zero points apply along `axis`. Weights that are
// f32 were shifted by the pass fold_weights.
Tensor shifted(Build& build, const Tensor& x, const Tensor* zero, int64_t axis) {
  if (x.type == ElementType::f32) return x;
  const Tensor wide = convert(build, x, ElementType::f32);
  if (zero == nullptr) return wide;
  return pointwise(build, OP_SUB, {wide, convert(build, along(*zero, x, axis), ElementType::f32)});
}

const Tensor* optional(const OpCall& call, size_t index) {
  return call.has(index) ? &call.in(index) : nullptr;
}

void matmul_integer(OpCall& call) {
  Build& build = call.build;
  const Tensor a = shifted(build, call.in(0), optional(call, 2), call.in(0).rank() - 2);
  const Tensor b = shifted(build, call.in(1), optional(call, 3), call.in(1).rank() - 1);
  call.set(0, convert(build, matmul(build, a, b), ElementType::i32));
}

void conv_integer(OpCall& call) {
  Build& build = call.build;
  const Tensor x = shifted(build, call.in(0), optional(call, 2), 1);
  const Tensor w = shifted(build, call.in(1), optional(call, 3), 0);
  call.set(0, convert(build, convolved(call, x, w, std::nullopt), ElementType::i32));
}

// Scales a product of quantized tensors and quantizes the result.
Tensor requantized(Build& build, const Tensor& product, const Tensor& a_scale,
                   const Tensor& b_scale, const Tensor& y_scale, const Tensor& y_zero) {
  const ElementType type = product.type;
  const Tensor factor = pointwise(
      build, OP_DIV,
      {pointwise(build, OP_MUL, {convert(build, a_scale, type), convert(build, b_scale, type)}),
       convert(build, y_scale, type)});
  Tensor y = pointwise(build, OP_ROUND, {pointwise(build, OP_MUL, {product, factor})});
  y = pointwise(build, OP_ADD, {y, convert(build, y_zero, type)});
  return convert(build, y, y_zero.type);
}

void qlinear_matmul(OpCall& call) {
  Build& build = call.build;
  const Tensor& a = call.in(0);
  const Tensor& b = call.in(3);
  const Tensor product = matmul(build, shifted(build, a, &call.in(2), a.rank() - 2),
                                shifted(build, b, &call.in(5), b.rank() - 1));
  const Tensor a_scale = along(call.in(1), product, product.rank() - 2);
  const Tensor b_scale = along(call.in(4), product, product.rank() - 1);
  call.set(0, requantized(build, product, a_scale, b_scale,
                          along(call.in(6), product, product.rank() - 2),
                          along(call.in(7), product, product.rank() - 2)));
}

void qlinear_conv(OpCall& call) {
  Build& build = call.build;
  const Tensor x = shifted(build, call.in(0), &call.in(2), 1);
  const Tensor w = shifted(build, call.in(3), &call.in(5), 0);
  std::optional<Tensor> bias;
  if (call.has(8)) bias = convert(build, call.in(8), ElementType::f32);
  const Tensor product = convolved(call, x, w, bias);
  call.set(0,
           requantized(build, product, along(call.in(1), product, 1), along(call.in(4), product, 1),
                       along(call.in(6), product, 1), along(call.in(7), product, 1)));
}

}  // namespace

Operators quantization_operators() {
  return {
      {"ConvInteger", conv_integer},
      {"DequantizeLinear", dequantize_linear},
      {"DynamicQuantizeLinear", dynamic_quantize_linear},
      {"MatMulInteger", matmul_integer},
      {"QLinearConv", qlinear_conv},
      {"QLinearMatMul", qlinear_matmul},
      {"QuantizeLinear", quantize_linear},
  };
}

}  // namespace dala::model
