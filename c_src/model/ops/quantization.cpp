// Quantized operators. Sums of products of bytes are exact: they are computed in f32 where they
// cannot exceed 2^24, otherwise in f64, or in i32 on devices without f64.
#include <algorithm>

#include "model/graph/exact_sums.hpp"
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

const Tensor* optional(const OpCall& call, size_t index) {
  return call.has(index) ? &call.in(index) : nullptr;
}

// The type in which `terms` products of bytes are summed up. Weights that are floats were shifted
// by the pass fold_weights, which has chosen a type by their values; others may have any value.
ElementType sum_type(const Build& build, const Tensor& weights, double terms, bool has_bias) {
  constexpr double kLargestProduct = 255.0 * 255.0;
  const bool narrow = is_float(weights.type)
                          ? weights.type == ElementType::f32
                          : !has_bias && is_exact_in_f32(terms * kLargestProduct);
  if (narrow) return ElementType::f32;
  return build.planner().fp64() ? ElementType::f64 : ElementType::i32;
}

// Integers minus their zero point. Several zero points apply along `axis`.
Tensor shifted(Build& build, const Tensor& x, const Tensor* zero, int64_t axis, ElementType type) {
  const Tensor wide = convert(build, x, type);
  if (zero == nullptr || is_float(x.type)) return wide;
  return pointwise(build, OP_SUB, {wide, convert(build, along(*zero, x, axis), type)});
}

// The exact product of matrices of bytes, each minus its zero points.
Tensor integer_product(OpCall& call, size_t a_index, const Tensor* a_zero, size_t b_index,
                       const Tensor* b_zero) {
  const Tensor& a = call.in(a_index);
  const Tensor& b = call.in(b_index);
  const auto terms = static_cast<double>(a.rank() == 0 ? 1 : a.dim(a.rank() - 1));
  const ElementType type = sum_type(call.build, b, terms, false);
  return matmul(call.build, shifted(call.build, a, a_zero, a.rank() - 2, type),
                shifted(call.build, b, b_zero, b.rank() - 1, type));
}

// The exact convolution of bytes, each minus its zero points, plus a bias.
Tensor integer_convolution(OpCall& call, const Tensor* x_zero, size_t w_index, const Tensor* w_zero,
                           const Tensor* bias) {
  Build& build = call.build;
  const Tensor& w = call.in(w_index);
  const int64_t results = w.rank() == 0 ? 1 : std::max<int64_t>(1, w.dim(0));
  const ElementType type =
      sum_type(build, w, static_cast<double>(w.count() / results), bias != nullptr);
  std::optional<Tensor> added;
  if (bias != nullptr) added = convert(build, *bias, type);
  return convolved(call, shifted(build, call.in(0), x_zero, 1, type),
                   shifted(build, w, w_zero, 0, type), added);
}

void matmul_integer(OpCall& call) {
  const Tensor product = integer_product(call, 0, optional(call, 2), 1, optional(call, 3));
  call.set(0, convert(call.build, product, ElementType::i32));
}

void conv_integer(OpCall& call) {
  const Tensor sum = integer_convolution(call, optional(call, 2), 1, optional(call, 3), nullptr);
  call.set(0, convert(call.build, sum, ElementType::i32));
}

// Scales a product of quantized tensors and quantizes the result, in f32 as ONNX Runtime does.
Tensor requantized(Build& build, const Tensor& sums, const Tensor& a_scale, const Tensor& b_scale,
                   const Tensor& y_scale, const Tensor& y_zero) {
  const ElementType type = ElementType::f32;
  const Tensor product = convert(build, sums, type);
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
  const Tensor product = integer_product(call, 0, &call.in(2), 3, &call.in(5));
  const Tensor a_scale = along(call.in(1), product, product.rank() - 2);
  const Tensor b_scale = along(call.in(4), product, product.rank() - 1);
  call.set(0, requantized(build, product, a_scale, b_scale,
                          along(call.in(6), product, product.rank() - 2),
                          along(call.in(7), product, product.rank() - 2)));
}

void qlinear_conv(OpCall& call) {
  const Tensor sum = integer_convolution(call, &call.in(2), 3, &call.in(5), optional(call, 8));
  call.set(0, requantized(call.build, sum, along(call.in(1), sum, 1), along(call.in(4), sum, 1),
                          along(call.in(6), sum, 1), along(call.in(7), sum, 1)));
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
