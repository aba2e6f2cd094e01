#include "kernels/elementwise/elementwise.hpp"

#include <limits>

#include "kernels/checks.hpp"
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
  if (op.name == "select")
    return "the element type of inputs 1 and 2, a shape that all broadcast to";
  return "the inputs' element type, a shape that they broadcast to";
}

// The type of the elements that an operation is about: comparisons have another one as a result,
// and a condition is always u8.
DType element_type(const PointwiseOp& op, const Call& call) {
  return call.inputs.empty() ? call.output.dtype : call.inputs[op.name == "select" ? 1 : 0].dtype;
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
    const Entry entry = pointwise_entry(planner, op, element_type(op, call));
    return pointwise_launch(planner, entry, call,
                            broadcast_layout(name, call.inputs, call.output.shape), values(call));
  };
  descriptor.body = [op, values](const Call& call, const Planner&) {
    return op_body(op, element_type(op, call), call, values(call));
  };
  return descriptor;
}

Descriptor binary(const std::string& operation, const std::string& summary) {
  return pointwise("elementwise_" + operation, summary, {operation, 2, 0}, kEveryDType);
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
                      const std::vector<DType>& dtypes = kEveryDType) {
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

template <typename T>
std::vector<Value> bounds(const Call& call, T lowest, T highest) {
  return {call.has("min") ? call.element("min", call.output.dtype) : value(lowest),
          call.has("max") ? call.element("max", call.output.dtype) : value(highest)};
}

// The bounds of clamp; an absent bound is the end of the type's range.
std::vector<Value> clamp_values(const Call& call) {
  switch (call.output.dtype) {
    case DType::f32:
      return bounds(call, -std::numeric_limits<float>::infinity(),
                    std::numeric_limits<float>::infinity());
    case DType::f64:
      return bounds(call, -std::numeric_limits<double>::infinity(),
                    std::numeric_limits<double>::infinity());
    case DType::s32:
      return bounds(call, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
    case DType::s64:
      return bounds(call, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
    case DType::u32:
      return bounds(call, uint32_t{0}, std::numeric_limits<uint32_t>::max());
    case DType::u8:
      return bounds(call, uint8_t{0}, std::numeric_limits<uint8_t>::max());
  }
  return {};
}

Descriptor clamp_kernel() {
  Descriptor clamp =
      pointwise("clamp", "Limits elements to the range from min to max; NaN stays NaN.",
                {"clamp", 1, 2}, kEveryDType,
                {element("min", "the lower bound; unbounded when absent"),
                 element("max", "the upper bound; unbounded when absent")},
                clamp_values);
  clamp.check = [common = clamp.check](const Call& call) {
    common(call);
    if (!call.has("min") || !call.has("max")) return;
    const ParamValue& low = call.params.at("min");
    const ParamValue& high = call.params.at("max");
    const auto* low_integer = std::get_if<int64_t>(&low);
    const auto* high_integer = std::get_if<int64_t>(&high);
    // Integers are compared as integers, since doubles cannot represent all of them.
    const bool ordered = low_integer != nullptr && high_integer != nullptr
                             ? *low_integer <= *high_integer
                             : call.number("min") <= call.number("max");
    if (ordered) return;
    throw Error(Reason::invalid_param, text("min of clamp must be at most max, got ",
                                            to_string(low), " and ", to_string(high)));
  };
  return clamp;
}

Descriptor relu_kernel() {
  ParamSpec slope = element("slope", "the factor for negative elements (leaky relu)");
  slope.fallback = int64_t{0};
  return pointwise("relu", "max(x, 0), or slope * x for x below 0; NaN stays NaN.", {"relu", 1, 1},
                   kEveryDType, {slope}, [](const Call& call) {
                     return std::vector{call.element("slope", call.output.dtype)};
                   });
}

Descriptor scalar_mul_kernel() {
  return pointwise("scalar_mul", "x * scalar; integers wrap.", {"scalar_mul", 1, 1}, kEveryDType,
                   {required(element("scalar", "the factor"))}, [](const Call& call) {
                     return std::vector{call.element("scalar", call.output.dtype)};
                   });
}

Descriptor fill_kernel() {
  return pointwise(
      "fill", "Sets every element of the output to value.", {"fill", 0, 1}, kEveryDType,
      {required(element("value", "the value of every element"))},
      [](const Call& call) { return std::vector{call.element("value", call.output.dtype)}; });
}

Descriptor select_kernel() {
  Descriptor select = function(
      "select", 3, "Input 1 where input 0, a u8 condition, is not 0, and input 2 elsewhere.",
      kEveryDType);
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
      comparison("is_nan", 1, "Whether x is NaN: 1 or 0.", kFloatDTypes),
      comparison("is_infinity", 1, "Whether x is infinite: 1 or 0.", kFloatDTypes),
      select_kernel(),
  };
}

Descriptors functions() {
  return {
      function("sign", 1, "-1, 0 or 1; NaN stays, and so does the sign of 0.", kEveryDType),
      function("ceil", 1, "The least whole number that is not below x.", kFloatDTypes),
      function("floor", 1, "The largest whole number that is not above x.", kFloatDTypes),
      function("round", 1, "The nearest whole number; halves go away from zero.", kFloatDTypes),
      function("sin", 1, "The sine.", kFloatDTypes),
      function("cos", 1, "The cosine.", kFloatDTypes),
      function("tan", 1, "The tangent.", kFloatDTypes),
      function("asin", 1, "The arc sine.", kFloatDTypes),
      function("acos", 1, "The arc cosine.", kFloatDTypes),
      function("atan", 1, "The arc tangent.", kFloatDTypes),
      function("atan2", 2, "The angle of the point (b, a), from -pi to pi.", kFloatDTypes),
      function("sinh", 1, "The hyperbolic sine.", kFloatDTypes),
      function("cosh", 1, "The hyperbolic cosine.", kFloatDTypes),
      function("asinh", 1, "The inverse hyperbolic sine.", kFloatDTypes),
      function("acosh", 1, "The inverse hyperbolic cosine.", kFloatDTypes),
      function("atanh", 1, "The inverse hyperbolic tangent.", kFloatDTypes),
      function("expm1", 1, "exp(x) - 1, exact near 0.", kFloatDTypes),
      function("log1p", 1, "log(1 + x), exact near 0.", kFloatDTypes),
      function("cbrt", 1, "The cube root.", kFloatDTypes),
      function("rsqrt", 1, "1 / sqrt(x).", kFloatDTypes),
      function("erf", 1, "The error function.", kFloatDTypes),
      function("erfc", 1, "1 - erf(x), exact for large x.", kFloatDTypes),
      function("erf_inv", 1, "The inverse of the error function; NaN outside of -1 to 1.",
               kFloatDTypes),
      function("remainder", 2,
               "What is left of a / b, with the sign of a; 0 for integers and b = 0.", kEveryDType),
      function("bitwise_and", 2, "The bits that a and b both have.", kIntegerDTypes),
      function("bitwise_or", 2, "The bits that a or b has.", kIntegerDTypes),
      function("bitwise_xor", 2, "The bits that exactly one of a and b has.", kIntegerDTypes),
      function("bitwise_not", 1, "The bits that x does not have.", kIntegerDTypes),
      function("left_shift", 2,
               "a moved left by b bits; 0 for b below 0, or the type's width and above.",
               kIntegerDTypes),
      function("right_shift", 2,
               "a moved right by b bits, with its sign; b below 0, or the type's width and above, "
               "leaves the sign alone.",
               kIntegerDTypes),
      function("population_count", 1, "How many bits of x are 1.", kIntegerDTypes),
      function("count_leading_zeros", 1, "How many bits of x are 0 before the first 1.",
               kIntegerDTypes),
  };
}

}  // namespace

Descriptors elementwise_kernels() {
  Descriptors all = {
      binary("add", "a + b; integers wrap."),
      binary("sub", "a - b; integers wrap."),
      binary("mul", "a * b; integers wrap."),
      binary("div", "a / b; integers truncate toward zero, and an integer divided by 0 is 0."),
      binary("min", "The smaller of a and b; NaN if either is NaN."),
      binary("max", "The larger of a and b; NaN if either is NaN."),
      binary("pow", "a to the power of b; integers wrap, and negative powers truncate to 0."),
      unary("abs", "The absolute value; the smallest integer of a signed type stays as it is.",
            kEveryDType),
      unary("neg", "-x; integers wrap.", kEveryDType),
      unary("exp", "e to the power of x.", kFloatDTypes),
      unary("log", "The natural logarithm.", kFloatDTypes),
      unary("sqrt", "The square root.", kFloatDTypes),
      unary("tanh", "The hyperbolic tangent.", kFloatDTypes),
      unary("sigmoid", "1 / (1 + exp(-x)).", kFloatDTypes),
      relu_kernel(),
      scalar_mul_kernel(),
      clamp_kernel(),
      fill_kernel(),
      cast_kernel(),
  };
  for (auto group : {comparisons, functions}) {
    for (Descriptor& descriptor : group()) all.push_back(std::move(descriptor));
  }
  return all;
}

}  // namespace dala
