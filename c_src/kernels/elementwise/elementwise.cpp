#include "kernels/elementwise/elementwise.hpp"

#include <limits>

#include "kernels/checks.hpp"
#include "kernels/elementwise/cast.hpp"
#include "kernels/elementwise/pointwise.hpp"

namespace dala {
namespace {

using Kind = ParamSpec::Kind;

// The parameters of a call as the operation takes them.
using Values = std::function<std::vector<Value>(const Call&)>;

std::vector<Value> no_values(const Call&) { return {}; }

// What all elementwise kernels agree on: the same element type throughout, inputs that broadcast.
Descriptor pointwise(const std::string& name, const std::string& summary, const PointwiseOp& op,
                     const std::vector<DType>& dtypes, std::vector<ParamSpec> params = {},
                     const Values& values = no_values) {
  Descriptor descriptor;
  descriptor.name = name;
  descriptor.summary = summary;
  descriptor.inputs = op.inputs;
  descriptor.dtypes = dtypes;
  descriptor.output_rule = op.inputs == 0
                               ? "any element type and shape"
                               : "the inputs' element type, a shape that they broadcast to";
  descriptor.params = std::move(params);
  descriptor.check = [name, dtypes](const Call& call) {
    need_same_inputs(name, call);
    need_output_dtype(name, call, call.inputs.empty() ? dtypes : std::vector{call.inputs[0].dtype});
    need_broadcast(name, call);
  };
  descriptor.plan = [name, op, values](const Call& call, Planner& planner) {
    planner.need_arithmetic(name, call);
    const Entry entry = pointwise_entry(planner, op, call.output.dtype);
    return pointwise_launch(planner, entry, call,
                            broadcast_layout(name, call.inputs, call.output.shape), values(call));
  };
  descriptor.body = [op, values](const Call& call, const Planner& planner) {
    return op_body(op, call, planner, values(call));
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

// The bounds of clamp; an absent one is the end of the type's range.
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
      pointwise("clamp", "Elements below min become min, those above max become max; NaN stays.",
                {"clamp", 1, 2}, kEveryDType,
                {element("min", "the lower bound; none when absent"),
                 element("max", "the upper bound; none when absent")},
                clamp_values);
  clamp.check = [common = clamp.check](const Call& call) {
    common(call);
    if (!call.has("min") || !call.has("max")) return;
    const ParamValue& low = call.params.at("min");
    const ParamValue& high = call.params.at("max");
    const auto* low_integer = std::get_if<int64_t>(&low);
    const auto* high_integer = std::get_if<int64_t>(&high);
    // Integers are compared as such, since doubles cannot tell all of them apart.
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
  ParamSpec slope = element("slope", "what negative elements are multiplied by (leaky relu)");
  slope.fallback = int64_t{0};
  return pointwise("relu", "max(x, 0), or slope * x for x below 0; NaN stays.", {"relu", 1, 1},
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
      {required(element("value", "what to fill with"))},
      [](const Call& call) { return std::vector{call.element("value", call.output.dtype)}; });
}

}  // namespace

Descriptors elementwise_kernels() {
  return {
      binary("add", "a + b; integers wrap."),
      binary("sub", "a - b; integers wrap."),
      binary("mul", "a * b; integers wrap."),
      binary("div", "a / b; integers truncate toward zero, and divided by 0 give 0."),
      binary("min", "The smaller of a and b; NaN if either is NaN."),
      binary("max", "The larger of a and b; NaN if either is NaN."),
      binary("pow", "a to the power of b; integers wrap, and negative powers truncate to 0."),
      unary("abs", "The absolute value; the smallest integer of a signed type is its own.",
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
}

}  // namespace dala
