#include "kernels/elementwise/elementwise.hpp"

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/elementwise/cast.hpp"
#include "kernels/elementwise/pointwise.hpp"

namespace dala {
namespace {

using Kind = ParamSpec::Kind;

// Converts the parameters of a call to the arguments of its operation.
using Values = std::function<std::vector<Value>(const Call&)>;

std::vector<Value> no_values(const Call&) { return {}; }

std::string output_rule(const PointwiseOp& op) {
  if (op.inputs == 0) return "any element type and shape";
  if (op.file == OpFile::compare) return "u8, a shape that the inputs broadcast to";
  if (op.file == OpFile::complex) {
    return text(to_string(result_type(op, DType::c64)), ", a shape that the inputs broadcast to");
  }
  if (op.name == "select")
    return "the element type of inputs 1 and 2, a shape that all broadcast to";
  return "the inputs' element type, a shape that they broadcast to";
}

// The element type of an operation: comparisons have another result type, and conditions are always
// u8.
DType element_type(const PointwiseOp& op, const Call& call) {
  if (op.file == OpFile::complex) return DType::c64;
  return call.inputs.empty() ? call.output.dtype : call.inputs[op.name == "select" ? 1 : 0].dtype;
}

// The type in which the operation runs: 16-bit floats that are only moved are not converted.
DType operated_as(const PointwiseOp& op, DType dtype) {
  const bool moves = op.name == "select" || op.name == "fill";
  return moves && is_narrow_float(dtype) ? carrier(dtype) : dtype;
}

// The rules of all elementwise kernels: one element type, inputs that broadcast to the output.
Descriptor pointwise(const std::string& name, const std::string& summary, const PointwiseOp& op,
                     const std::vector<DType>& dtypes, std::vector<ParamSpec> params = {},
                     const Values& values = no_values) {
  Descriptor descriptor;
  descriptor.name = name;
  descriptor.summary = summary;
  descriptor.inputs = op.inputs;
  descriptor.dtypes = dtypes;
  descriptor.output_rule = output_rule(op);
  descriptor.params = std::move(params);
  descriptor.check = [name, op, dtypes](const Call& call) {
    need_input_dtypes(name, call, input_types(op, element_type(op, call)));
    need_output_dtype(
        name, call,
        call.inputs.empty() ? dtypes : std::vector{result_type(op, element_type(op, call))});
    need_broadcast(name, call);
  };
  descriptor.plan = [name, op, values](const Call& call, Planner& planner) {
    planner.need_arithmetic(name, call);
    const Entry entry = pointwise_entry(planner, op, operated_as(op, element_type(op, call)));
    return pointwise_launch(planner, entry, call,
                            broadcast_layout(name, call.inputs, call.output.shape), values(call));
  };
  descriptor.body = [op, values](const Call& call, const Planner&) {
    return op_body(op, operated_as(op, element_type(op, call)), call, values(call));
  };
  return descriptor;
}

Descriptor binary(const std::string& operation, const std::string& summary,
                  const std::vector<DType>& dtypes = kRealDTypes) {
  return pointwise("elementwise_" + operation, summary, {operation, 2, 0}, dtypes);
}

Descriptor unary(const std::string& operation, const std::string& summary,
                 const std::vector<DType>& dtypes) {
  return pointwise(operation, summary, {operation, 1, 0}, dtypes);
}

Descriptor function(const std::string& name, int inputs, const std::string& summary,
                    const std::vector<DType>& dtypes) {
  return pointwise(name, summary, {name, inputs, 0, OpFile::functions}, dtypes);
}

Descriptor comparison(const std::string& name, int inputs, const std::string& summary,
                      const std::vector<DType>& dtypes = kRealDTypes) {
  return pointwise(name, summary, {name, inputs, 1, OpFile::compare}, dtypes, {},
                   [](const Call&) { return std::vector{value(uint8_t{1})}; });
}

// A parameter that is one element of the output's type.
ParamSpec element(const std::string& name, const std::string& summary) {
  ParamSpec spec;
  spec.name = name;
  spec.kind = Kind::element;
  spec.summary = summary;
  return spec;
}

ParamSpec required(ParamSpec spec) {
  spec.required = true;
  return spec;
}

// The bounds of clamp; an absent bound is the end of the type's range.
std::vector<Value> clamp_values(const Call& call) {
  const DType dtype = call.output.dtype;
  return {call.has("min") ? call.element("min", dtype) : lowest_value(dtype),
          call.has("max") ? call.element("max", dtype) : highest_value(dtype)};
}

// Integers are compared as integers, since doubles cannot represent all of them.
bool in_order(const Call& call) {
  const ParamValue& low = call.params.at("min");
  const ParamValue& high = call.params.at("max");
  const bool large_low = std::holds_alternative<uint64_t>(low);
  const bool large_high = std::holds_alternative<uint64_t>(high);
  if (large_low && large_high) return std::get<uint64_t>(low) <= std::get<uint64_t>(high);
  const auto* low_integer = std::get_if<int64_t>(&low);
  const auto* high_integer = std::get_if<int64_t>(&high);
  if (low_integer != nullptr && high_integer != nullptr) return *low_integer <= *high_integer;
  // One of them is beyond the range of int64.
  if (large_low && high_integer != nullptr) return false;
  if (large_high && low_integer != nullptr) return true;
  return call.number("min") <= call.number("max");
}

Descriptor clamp_kernel() {
  Descriptor clamp =
      pointwise("clamp", "Limits elements to the range from min to max; NaN stays NaN.",
                {"clamp", 1, 2}, kRealDTypes,
                {element("min", "the lower bound; unbounded when absent"),
                 element("max", "the upper bound; unbounded when absent")},
                clamp_values);
  clamp.check = [common = clamp.check](const Call& call) {
    common(call);
    if (!call.has("min") || !call.has("max")) return;
    if (in_order(call)) return;
    throw Error(Reason::invalid_param,
                text("min of clamp must be at most max, got ", to_string(call.params.at("min")),
                     " and ", to_string(call.params.at("max"))));
  };
  return clamp;
}

Descriptor relu_kernel() {
  ParamSpec slope = element("slope", "the factor for negative elements (leaky relu)");
  slope.fallback = int64_t{0};
  return pointwise("relu", "max(x, 0), or slope * x for x below 0; NaN stays NaN.", {"relu", 1, 1},
                   kRealDTypes, {slope}, [](const Call& call) {
                     return std::vector{call.element("slope", call.output.dtype)};
                   });
}

Descriptor scalar_mul_kernel() {
  return pointwise("scalar_mul", "x * scalar; integers wrap.", {"scalar_mul", 1, 1}, kRealDTypes,
                   {required(element("scalar", "the factor"))}, [](const Call& call) {
                     return std::vector{call.element("scalar", call.output.dtype)};
                   });
}

Descriptor fill_kernel() {
  return pointwise(
      "fill", "Sets every element of the output to value.", {"fill", 0, 1}, kMovedDTypes,
      {required(element("value", "the value of every element"))},
      [](const Call& call) { return std::vector{call.element("value", call.output.dtype)}; });
}

Descriptor select_kernel() {
  Descriptor select = function(
      "select", 3, "Input 1 where input 0, a u8 condition, is not 0, and input 2 elsewhere.",
      kMovedDTypes);
  select.sample = [](DType dtype) {
    const TensorType type{dtype, {1}};
    return Call{{{DType::u8, {1}}, type, type}, type, {}};
  };
  return select;
}

Descriptors comparisons() {
  return {
      comparison("equal", 2, "Whether a = b: 1 or 0; NaN equals nothing."),
      comparison("not_equal", 2, "Whether a and b differ: 1 or 0; NaN differs from everything."),
      comparison("less", 2, "Whether a < b: 1 or 0; 0 for NaN."),
      comparison("less_equal", 2, "Whether a <= b: 1 or 0; 0 for NaN."),
      comparison("greater", 2, "Whether a > b: 1 or 0; 0 for NaN."),
      comparison("greater_equal", 2, "Whether a >= b: 1 or 0; 0 for NaN."),
      comparison("logical_and", 2, "1 where neither a nor b is 0, and 0 elsewhere."),
      comparison("logical_or", 2, "1 where a or b is not 0, and 0 elsewhere."),
      comparison("logical_xor", 2, "1 where exactly one of a and b is 0, and 0 elsewhere."),
      comparison("logical_not", 1, "1 where x is 0, and 0 elsewhere."),
      comparison("is_nan", 1, "Whether x is NaN: 1 or 0.", kAllFloatDTypes),
      comparison("is_infinity", 1, "Whether x is infinite: 1 or 0.", kAllFloatDTypes),
      select_kernel(),
  };
}

Descriptor of_complex(const std::string& name, int inputs, const std::string& summary,
                      const std::vector<DType>& dtypes = {DType::c64}) {
  return pointwise(name, summary, {name, inputs, 0, OpFile::complex}, dtypes);
}

Descriptors complex_functions() {
  return {
      of_complex("complex", 2, "The complex number a + b * i.", {DType::f32}),
      of_complex("real", 1, "The real part."),
      of_complex("imag", 1, "The imaginary part."),
      of_complex("conjugate", 1, "The complex number with the imaginary part negated."),
      of_complex("complex_abs", 1, "The distance from 0: sqrt(real^2 + imag^2), without overflow."),
      of_complex("complex_angle", 1, "The angle in the complex plane, from -pi to pi."),
  };
}

Descriptors functions() {
  return {
      function("sign", 1, "-1, 0 or 1; NaN stays, and so does the sign of 0.", kRealDTypes),
      function("ceil", 1, "The least whole number that is not below x.", kAllFloatDTypes),
      function("floor", 1, "The largest whole number that is not above x.", kAllFloatDTypes),
      function("round", 1, "The nearest whole number; halves go away from zero.", kAllFloatDTypes),
      function("sin", 1, "The sine.", kAllFloatDTypes),
      function("cos", 1, "The cosine.", kAllFloatDTypes),
      function("tan", 1, "The tangent.", kAllFloatDTypes),
      function("asin", 1, "The arc sine.", kAllFloatDTypes),
      function("acos", 1, "The arc cosine.", kAllFloatDTypes),
      function("atan", 1, "The arc tangent.", kAllFloatDTypes),
      function("atan2", 2, "The angle of the point (b, a), from -pi to pi.", kAllFloatDTypes),
      function("sinh", 1, "The hyperbolic sine.", kAllFloatDTypes),
      function("cosh", 1, "The hyperbolic cosine.", kAllFloatDTypes),
      function("asinh", 1, "The inverse hyperbolic sine.", kAllFloatDTypes),
      function("acosh", 1, "The inverse hyperbolic cosine.", kAllFloatDTypes),
      function("atanh", 1, "The inverse hyperbolic tangent.", kAllFloatDTypes),
      function("expm1", 1, "exp(x) - 1, exact near 0.", kAllFloatDTypes),
      function("log1p", 1, "log(1 + x), exact near 0.", kAllFloatDTypes),
      function("cbrt", 1, "The cube root.", kAllFloatDTypes),
      function("rsqrt", 1, "1 / sqrt(x).", kAllFloatDTypes),
      function("erf", 1, "The error function.", kAllFloatDTypes),
      function("erfc", 1, "1 - erf(x), exact for large x.", kAllFloatDTypes),
      function("erf_inv", 1, "The inverse of the error function; NaN outside of -1 to 1.",
               kAllFloatDTypes),
      function("remainder", 2,
               "The remainder of a / b, with the sign of a; 0 for integers and b = 0.",
               kRealDTypes),
      function("bitwise_and", 2, "The bits that a and b both have.", kAllIntegerDTypes),
      function("bitwise_or", 2, "The bits that a or b has.", kAllIntegerDTypes),
      function("bitwise_xor", 2, "The bits that exactly one of a and b has.", kAllIntegerDTypes),
      function("bitwise_not", 1, "The bits that x does not have.", kAllIntegerDTypes),
      function("left_shift", 2,
               "a moved left by b bits; 0 for b below 0, or the type's width and above.",
               kAllIntegerDTypes),
      function("right_shift", 2,
               "a moved right by b bits, with its sign; b below 0, or the type's width and above, "
               "leaves the sign alone.",
               kAllIntegerDTypes),
      function("population_count", 1, "How many bits of x are 1.", kAllIntegerDTypes),
      function("count_leading_zeros", 1, "How many bits of x are 0 before the first 1.",
               kAllIntegerDTypes),
  };
}

}  // namespace

Descriptors elementwise_kernels() {
  Descriptors all = {
      binary("add", "a + b; integers wrap.", kMovedDTypes),
      binary("sub", "a - b; integers wrap.", kMovedDTypes),
      binary("mul", "a * b; integers wrap.", kMovedDTypes),
      binary("div", "a / b; integers truncate toward zero, and an integer divided by 0 is 0.",
             kMovedDTypes),
      binary("min", "The smaller of a and b; NaN if either is NaN."),
      binary("max", "The larger of a and b; NaN if either is NaN."),
      binary("pow", "a to the power of b; integers wrap, and negative powers truncate to 0."),
      unary("abs", "The absolute value; the smallest integer of a signed type stays as it is.",
            kRealDTypes),
      unary("neg", "-x; integers wrap.", kMovedDTypes),
      unary("exp", "e to the power of x.", kAllFloatDTypes),
      unary("log", "The natural logarithm.", kAllFloatDTypes),
      unary("sqrt", "The square root.", kAllFloatDTypes),
      unary("tanh", "The hyperbolic tangent.", kAllFloatDTypes),
      unary("sigmoid", "1 / (1 + exp(-x)).", kAllFloatDTypes),
      relu_kernel(),
      scalar_mul_kernel(),
      clamp_kernel(),
      fill_kernel(),
      cast_kernel(),
  };
  for (auto group : {comparisons, functions, complex_functions}) {
    for (Descriptor& descriptor : group()) all.push_back(std::move(descriptor));
  }
  return all;
}

}  // namespace dala
