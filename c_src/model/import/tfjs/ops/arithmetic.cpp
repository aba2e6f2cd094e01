// Elementwise operators: arithmetic, activations, comparisons, logic, casts.
#include "model/import/tfjs/activation.hpp"
#include "model/import/tfjs/table.hpp"

namespace dala::model::tfjs {
namespace {

// Operators that are equivalent to one ONNX operator, named in the list below.
void unary(OpCall& call) { call.set(call.builder.add(call.onnx, {call.in(0)})); }

void binary(OpCall& call) { call.set(call.builder.add(call.onnx, {call.in(0), call.in(1)})); }

void ternary(OpCall& call) {
  call.set(call.builder.add(call.onnx, {call.in(0), call.in(1), call.in(2)}));
}

void sum_of_all(OpCall& call) {
  call.in(0);
  call.set(call.builder.add("Sum", call.inputs));
}

bool of_floats(const OpCall& call) {
  return is_float(call.node.type("T").value_or(ElementType::f32));
}

void rsqrt(OpCall& call) {
  call.set(call.builder.add("Reciprocal", {call.builder.add("Sqrt", {call.in(0)})}));
}

void square(OpCall& call) { call.set(call.builder.add("Mul", {call.in(0), call.in(0)})); }

void log1p(OpCall& call) {
  call.set(
      call.builder.add("Log", {call.builder.add("Add", {call.in(0), call.builder.scalar(1)})}));
}

void expm1(OpCall& call) {
  call.set(
      call.builder.add("Sub", {call.builder.add("Exp", {call.in(0)}), call.builder.scalar(1)}));
}

void relu6_op(OpCall& call) { call.set(relu6(call.builder, call.in(0))); }

void leaky_relu(OpCall& call) {
  const double slope = call.node.real("alpha", 0.2);
  call.set(call.builder.add("LeakyRelu", {call.in(0)}, {{"alpha", attr::real(slope)}}));
}

void clip_by_value(OpCall& call) {
  GraphBuilder& builder = call.builder;
  call.set(builder.add("Min", {builder.add("Max", {call.in(0), call.in(1)}), call.in(2)}));
}

void squared_difference(OpCall& call) {
  const TensorId difference = call.builder.add("Sub", {call.in(0), call.in(1)});
  call.set(call.builder.add("Mul", {difference, difference}));
}

void not_equal(OpCall& call) {
  call.set(call.builder.add("Not", {call.builder.add("Equal", {call.in(0), call.in(1)})}));
}

// Rounds towards minus infinity.
void floor_div(OpCall& call) {
  GraphBuilder& builder = call.builder;
  if (of_floats(call)) {
    call.set(builder.add("Floor", {builder.add("Div", {call.in(0), call.in(1)})}));
    return;
  }
  const TensorId rest = builder.add("Mod", {call.in(0), call.in(1)});
  call.set(builder.add("Div", {builder.add("Sub", {call.in(0), rest}), call.in(1)}));
}

// The result has the sign of the divisor.
void floor_mod(OpCall& call) {
  GraphBuilder& builder = call.builder;
  if (!of_floats(call)) {
    call.set(builder.add("Mod", {call.in(0), call.in(1)}));
    return;
  }
  const TensorId whole = builder.add("Floor", {builder.add("Div", {call.in(0), call.in(1)})});
  call.set(builder.add("Sub", {call.in(0), builder.add("Mul", {whole, call.in(1)})}));
}

// The result has the sign of the dividend.
void truncate_mod(OpCall& call) {
  call.set(call.builder.add("Mod", {call.in(0), call.in(1)}, {{"fmod", attr::integer(1)}}));
}

void div_no_nan(OpCall& call) {
  GraphBuilder& builder = call.builder;
  const TensorId zero = builder.scalar(0);
  const TensorId none = builder.add("Equal", {call.in(1), zero});
  const TensorId ratio = builder.add("Div", {call.in(0), call.in(1)});
  call.set(builder.add("Where", {none, zero, ratio}));
}

// atan(y / x), plus or minus pi for negative x; 0 at the origin.
void atan2(OpCall& call) {
  GraphBuilder& builder = call.builder;
  constexpr double kHalfTurn = 3.14159265358979323846;
  const TensorId y = call.in(0);
  const TensorId x = call.in(1);
  const TensorId zero = builder.scalar(0);
  const TensorId right = builder.add("Atan", {builder.add("Div", {y, x})});
  const TensorId turn = builder.add(
      "Where",
      {builder.add("Less", {y, zero}), builder.scalar(-kHalfTurn), builder.scalar(kHalfTurn)});
  const TensorId left = builder.add("Less", {x, zero});
  const TensorId angle = builder.add("Where", {left, builder.add("Add", {right, turn}), right});
  const TensorId origin =
      builder.add("And", {builder.add("Equal", {x, zero}), builder.add("Equal", {y, zero})});
  call.set(builder.add("Where", {origin, zero, angle}));
}

void bias_add(OpCall& call) {
  TensorId bias = call.in(1);
  if (call.channels_first()) {
    bias = call.builder.add("Unsqueeze", {bias, call.builder.integers({1, 2})});
  }
  call.set(call.builder.add("Add", {call.in(0), bias}));
}

void cast(OpCall& call) {
  const auto type = call.node.type("DstT");
  if (!type) unsupported("no destination type");
  call.set(call.builder.cast(call.in(0), *type));
}

// A condition of lower rank broadcasts from the first axis.
void select(OpCall& call) {
  GraphBuilder& builder = call.builder;
  const TensorId condition = call.in(0);
  const TensorId shape = builder.add("Shape", {condition});
  const TensorId rank = builder.add("Shape", {builder.add("Shape", {call.in(1)})});
  const TensorId missing = builder.add("Sub", {rank, builder.add("Shape", {shape})});
  const TensorId ones = builder.add("Expand", {builder.scalar(1, ElementType::i64), missing});
  const TensorId wide = builder.add("Concat", {shape, ones}, {{"axis", attr::integer(0)}});
  const TensorId aligned = builder.add("Reshape", {condition, wide});
  call.set(builder.add("Where", {aligned, call.in(1), call.in(2)}));
}

void same(OpCall& call) {
  call.in(0);
  call.outputs = call.inputs;
}

}  // namespace

Operators arithmetic_operators() {
  return {
      {"Abs", unary, "Abs"},
      {"Acos", unary, "Acos"},
      {"Acosh", unary, "Acosh"},
      {"Add", binary, "Add"},
      {"AddN", sum_of_all},
      {"AddV2", binary, "Add"},
      {"Asin", unary, "Asin"},
      {"Asinh", unary, "Asinh"},
      {"Atan", unary, "Atan"},
      {"Atan2", atan2},
      {"Atanh", unary, "Atanh"},
      {"BiasAdd", bias_add},
      {"BitwiseAnd", binary, "BitwiseAnd"},
      {"Cast", cast},
      {"Ceil", unary, "Ceil"},
      {"ClipByValue", clip_by_value},
      {"Cos", unary, "Cos"},
      {"Cosh", unary, "Cosh"},
      {"Div", binary, "Div"},
      {"DivNoNan", div_no_nan},
      {"Elu", unary, "Elu"},
      {"Equal", binary, "Equal"},
      {"Erf", unary, "Erf"},
      {"Exp", unary, "Exp"},
      {"Expm1", expm1},
      {"Floor", unary, "Floor"},
      {"FloorDiv", floor_div},
      {"FloorMod", floor_mod},
      {"Greater", binary, "Greater"},
      {"GreaterEqual", binary, "GreaterOrEqual"},
      {"Identity", same},
      {"IdentityN", same},
      {"IsNan", unary, "IsNaN"},
      {"LeakyRelu", leaky_relu},
      {"Less", binary, "Less"},
      {"LessEqual", binary, "LessOrEqual"},
      {"Log", unary, "Log"},
      {"Log1p", log1p},
      {"LogicalAnd", binary, "And"},
      {"LogicalNot", unary, "Not"},
      {"LogicalOr", binary, "Or"},
      {"LogicalXor", binary, "Xor"},
      {"Maximum", binary, "Max"},
      {"Minimum", binary, "Min"},
      {"Mod", truncate_mod},
      {"Mul", binary, "Mul"},
      {"Neg", unary, "Neg"},
      {"NotEqual", not_equal},
      {"PlaceholderWithDefault", same},
      {"Pow", binary, "Pow"},
      {"Prelu", binary, "PRelu"},
      {"RealDiv", binary, "Div"},
      {"Reciprocal", unary, "Reciprocal"},
      {"Relu", unary, "Relu"},
      {"Relu6", relu6_op},
      {"Round", unary, "Round"},
      {"Rsqrt", rsqrt},
      {"Select", select},
      {"SelectV2", ternary, "Where"},
      {"Selu", unary, "Selu"},
      {"Sigmoid", unary, "Sigmoid"},
      {"Sign", unary, "Sign"},
      {"Sin", unary, "Sin"},
      {"Sinh", unary, "Sinh"},
      {"Softplus", unary, "Softplus"},
      {"Sqrt", unary, "Sqrt"},
      {"Square", square},
      {"SquaredDifference", squared_difference},
      {"StopGradient", same},
      {"Sub", binary, "Sub"},
      {"Tan", unary, "Tan"},
      {"Tanh", unary, "Tanh"},
  };
}

}  // namespace dala::model::tfjs
