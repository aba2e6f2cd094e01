// Elementwise operators: functions, arithmetic, comparisons, logic, casts.
#include "model/ops/families.hpp"
#include "model/ops/nn/convolution.hpp"

namespace dala::model {
namespace {

// Before operator set 7, the attribute `axis` aligned the second input for broadcasting.
Tensor aligned(const OpCall& call, const Tensor& second) {
  if (call.opset >= 7 || !call.has_attribute("axis")) return second;
  Shape shape = second.shape;
  const int64_t axis = call.axis(0, call.in(0).rank());
  while (axis + static_cast<int64_t>(shape.size()) < call.in(0).rank()) shape.push_back(1);
  return Build::reshaped(second, shape);
}

template <Arithmetic op>
void unary(OpCall& call) {
  call.set(0, pointwise(call.build, op, {call.in(0)}));
}

// A function with one or two scalar attributes.
template <Arithmetic op>
void with_params(OpCall& call, const char* first, double p, const char* second = nullptr,
                 double q = 0) {
  p = call.real(first, p);
  if (second != nullptr) q = call.real(second, q);
  call.set(0, pointwise(call.build, op, {call.in(0)}, p, q));
}

void leaky_relu(OpCall& call) { with_params<OP_LEAKY_RELU>(call, "alpha", 0.01); }
void elu(OpCall& call) { with_params<OP_ELU>(call, "alpha", 1); }
void celu(OpCall& call) { with_params<OP_CELU>(call, "alpha", 1); }
void thresholded_relu(OpCall& call) { with_params<OP_THRESHOLDED_RELU>(call, "alpha", 1); }
void hard_sigmoid(OpCall& call) { with_params<OP_HARD_SIGMOID>(call, "alpha", 0.2, "beta", 0.5); }
void shrink(OpCall& call) { with_params<OP_SHRINK>(call, "lambd", 0.5, "bias", 0); }
void selu(OpCall& call) {
  with_params<OP_SELU>(call, "alpha", 1.67326319217681884765625, "gamma",
                       1.05070102214813232421875);
}

void gelu(OpCall& call) {
  const bool approximate = call.text("approximate", "none") == "tanh";
  call.set(0, pointwise(call.build, approximate ? OP_GELU_TANH : OP_GELU, {call.in(0)}));
}

Tensor sum_of(Build& build, const Tensor& a, const Tensor& b) {
  return pointwise(build, OP_ADD, {a, b});
}

void bias_gelu(OpCall& call) {
  const Tensor sum = sum_of(call.build, call.in(0), call.in(1));
  call.set(0, pointwise(call.build, OP_GELU, {sum}));
}

void fast_gelu(OpCall& call) {
  const Tensor x = call.has(1) ? sum_of(call.build, call.in(0), call.in(1)) : call.in(0);
  call.set(0, pointwise(call.build, OP_GELU_TANH, {x}));
}

// x * sigmoid(alpha * x)
Tensor swish_of(Build& build, const Tensor& x, double alpha) {
  const Tensor scaled = alpha == 1 ? x : pointwise(build, OP_AFFINE, {x}, alpha, 0);
  return pointwise(build, OP_MUL, {x, pointwise(build, OP_SIGMOID, {scaled})});
}

void quick_gelu(OpCall& call) {
  call.set(0, swish_of(call.build, call.in(0), call.real("alpha", 1.702)));
}

void swish(OpCall& call) { call.set(0, swish_of(call.build, call.in(0), call.real("alpha", 1))); }

// Not an ONNX operator: the optimizer merges x * sigmoid(x) into it.
void silu(OpCall& call) { call.set(0, swish_of(call.build, call.in(0), 1)); }

template <Arithmetic op>
void binary(OpCall& call) {
  call.set(0, pointwise(call.build, op, {call.in(0), aligned(call, call.in(1))}));
}

// A slope of rank 1 applies to the channels of the first input.
void prelu(OpCall& call) {
  const Tensor& x = call.in(0);
  Tensor slope = call.in(1);
  if (slope.rank() == 1 && x.rank() > 2 && slope.dim(0) == x.dim(1) && slope.dim(0) != 1 &&
      slope.dim(0) != x.shape.back()) {
    Shape shape(x.shape.size() - 1, 1);
    shape[0] = slope.dim(0);
    slope = Build::reshaped(slope, shape);
  }
  call.set(0, pointwise(call.build, OP_PRELU, {x, slope}));
}

// A factor per channel that is computed at run time, as in squeeze-and-excitation blocks, runs as
// scaled_channels.
void multiply(OpCall& call) {
  const Tensor second = aligned(call, call.in(1));
  for (const auto& [x, factor] : {std::pair(call.in(0), second), std::pair(second, call.in(0))}) {
    const bool per_channel = x.rank() == 4 && factor.shape == Shape{1, x.dim(1), 1, 1} &&
                             factor.known == nullptr && factor.count() < x.count();
    const auto result = per_channel ? scaled_channels(call.build, x, factor, {}) : std::nullopt;
    if (!result) continue;
    call.set(0, *result);
    return;
  }
  call.set(0, pointwise(call.build, OP_MUL, {call.in(0), second}));
}

template <Arithmetic op>
Tensor folded(OpCall& call) {
  Tensor result = call.in(0);
  for (size_t i = 1; i < call.size(); ++i) {
    result = pointwise(call.build, op, {result, call.in(i)});
  }
  return result;
}

template <Arithmetic op>
void variadic(OpCall& call) {
  call.set(0, folded<op>(call));
}

void mean(OpCall& call) {
  const Tensor sum = folded<OP_ADD>(call);
  const Tensor count = scalar(call.build, sum.type, static_cast<double>(call.size()));
  call.set(0, pointwise(call.build, OP_DIV, {sum, count}));
}

void power(OpCall& call) {
  const Tensor& base = call.in(0);
  const Tensor exponent = aligned(call, call.in(1));
  Build& build = call.build;
  if (is_float(base.type)) {
    // The square, which is common in networks, as a product.
    if (exponent.known != nullptr && exponent.count() == 1) {
      const double number = exponent.known->number(0);
      const Shape shape = broadcast_shape({base.shape, exponent.shape});
      if (number == 2 && shape == base.shape) {
        call.set(0, pointwise(build, OP_MUL, {base, base}));
        return;
      }
    }
    call.set(0, pointwise(build, OP_POW, {base, convert(build, exponent, base.type)}));
  } else if (is_float(exponent.type)) {
    const Tensor wide = convert(build, base, exponent.type);
    call.set(0, convert(build, pointwise(build, OP_POW, {wide, exponent}), base.type));
  } else {
    call.set(0, pointwise(build, OP_POW, {base, convert(build, exponent, base.type)}));
  }
}

void modulo(OpCall& call) {
  const bool truncate = call.integer("fmod", 0) != 0;
  call.set(0, pointwise(call.build, truncate ? OP_FMOD : OP_MOD, {call.in(0), call.in(1)}));
}

void bit_shift(OpCall& call) {
  const bool left = call.text("direction", "") == "LEFT";
  call.set(0,
           pointwise(call.build, left ? OP_SHIFT_LEFT : OP_SHIFT_RIGHT, {call.in(0), call.in(1)}));
}

// The bounds are attributes before operator set 11 and inputs since; either may be absent.
void clip(OpCall& call) {
  const Tensor& x = call.in(0);
  Build& build = call.build;
  const auto bound = [&](const char* name, size_t index) -> std::optional<Tensor> {
    if (call.has_attribute(name)) return scalar(build, x.type, call.real(name, 0));
    if (call.has(index)) return call.in(index);
    return std::nullopt;
  };
  const auto low = bound("min", 1);
  const auto high = bound("max", 2);
  if (low && high) {
    call.set(0, pointwise(build, OP_CLIP, {x, *low, *high}));
  } else if (low) {
    call.set(0, pointwise(build, OP_MAX, {x, *low}));
  } else {
    call.set(0, high ? pointwise(build, OP_MIN, {x, *high}) : x);
  }
}

template <Comparison op>
void comparison(OpCall& call) {
  call.set(0, compare(call.build, op, call.in(0), aligned(call, call.in(1))));
}

void is_nan(OpCall& call) { call.set(0, compare(call.build, CMP_NAN, call.in(0), call.in(0))); }

void is_infinite(OpCall& call) {
  call.set(0, compare(call.build, CMP_INFINITE, call.in(0), call.in(0),
                      static_cast<double>(call.integer("detect_positive", 1)),
                      static_cast<double>(call.integer("detect_negative", 1))));
}

void where(OpCall& call) { call.set(0, choose(call.build, call.in(0), call.in(1), call.in(2))); }

void cast_to(OpCall& call, ElementType type) {
  if (type == ElementType::bf16 && call.in(0).type != ElementType::bf16) {
    unsupported("conversion to bf16 is not supported: versions of ONNX round differently");
  }
  call.set(0, convert(call.build, call.in(0), type));
}

void cast(OpCall& call) { cast_to(call, element_type(call.integer("to", 0))); }

void cast_like(OpCall& call) { cast_to(call, call.in(1).type); }

void identity(OpCall& call) { call.set(0, call.in(0)); }

// At inference nothing is dropped; the optional mask is all ones.
void dropout(OpCall& call) {
  const Tensor& x = call.in(0);
  const bool training = call.has(2) && call.build.values(call.in(2)).integer(0) != 0;
  const bool some = !call.has(1) || call.build.values(call.in(1)).number(0) != 0;
  if (training && some) unsupported("dropout in training mode is not supported");
  call.set(0, x);
  if (call.wants(1)) {
    const ElementType type = call.opset >= 10 ? ElementType::boolean : x.type;
    call.set(1, filled(call.build, type, x.shape, 1));
  }
}

}  // namespace

Operators arithmetic_operators() {
  return {
      {"Abs", unary<OP_ABS>},
      {"Acos", unary<OP_ACOS>},
      {"Acosh", unary<OP_ACOSH>},
      {"Add", binary<OP_ADD>},
      {"And", binary<OP_AND>},
      {"Asin", unary<OP_ASIN>},
      {"Asinh", unary<OP_ASINH>},
      {"Atan", unary<OP_ATAN>},
      {"Atanh", unary<OP_ATANH>},
      {"BiasGelu", bias_gelu},
      {"BitShift", bit_shift},
      {"BitwiseAnd", binary<OP_BITWISE_AND>},
      {"BitwiseNot", unary<OP_BITWISE_NOT>},
      {"BitwiseOr", binary<OP_BITWISE_OR>},
      {"BitwiseXor", binary<OP_BITWISE_XOR>},
      {"Cast", cast},
      {"CastLike", cast_like},
      {"Ceil", unary<OP_CEIL>},
      {"Celu", celu},
      {"Clip", clip},
      {"Cos", unary<OP_COS>},
      {"Cosh", unary<OP_COSH>},
      {"Div", binary<OP_DIV>},
      {"Dropout", dropout},
      {"Elu", elu},
      {"Equal", comparison<CMP_EQUAL>},
      {"Erf", unary<OP_ERF>},
      {"Exp", unary<OP_EXP>},
      {"FastGelu", fast_gelu},
      {"Floor", unary<OP_FLOOR>},
      {"Gelu", gelu},
      {"Greater", comparison<CMP_GREATER>},
      {"GreaterOrEqual", comparison<CMP_GREATER_EQUAL>},
      {"HardSigmoid", hard_sigmoid},
      {"HardSwish", unary<OP_HARD_SWISH>},
      {"Identity", identity},
      {"IsInf", is_infinite},
      {"IsNaN", is_nan},
      {"LeakyRelu", leaky_relu},
      {"Less", comparison<CMP_LESS>},
      {"LessOrEqual", comparison<CMP_LESS_EQUAL>},
      {"Log", unary<OP_LOG>},
      {"Max", variadic<OP_MAX>},
      {"Mean", mean},
      {"Min", variadic<OP_MIN>},
      {"Mish", unary<OP_MISH>},
      {"Mod", modulo},
      {"Mul", multiply},
      {"Neg", unary<OP_NEG>},
      {"Not", unary<OP_LOGICAL_NOT>},
      {"Or", binary<OP_OR>},
      {"PRelu", prelu},
      {"Pow", power},
      {"QuickGelu", quick_gelu},
      {"Reciprocal", unary<OP_RECIPROCAL>},
      {"Relu", unary<OP_RELU>},
      {"Round", unary<OP_ROUND>},
      {"Selu", selu},
      {"Shrink", shrink},
      {"Sigmoid", unary<OP_SIGMOID>},
      {"Sign", unary<OP_SIGN>},
      {"Silu", silu},
      {"Sin", unary<OP_SIN>},
      {"Sinh", unary<OP_SINH>},
      {"Softplus", unary<OP_SOFTPLUS>},
      {"Softsign", unary<OP_SOFTSIGN>},
      {"Sqrt", unary<OP_SQRT>},
      {"Sub", binary<OP_SUB>},
      {"Sum", variadic<OP_ADD>},
      {"Swish", swish},
      {"Tan", unary<OP_TAN>},
      {"Tanh", unary<OP_TANH>},
      {"ThresholdedRelu", thresholded_relu},
      {"Where", where},
      {"Xor", binary<OP_XOR>},
  };
}

}  // namespace dala::model
