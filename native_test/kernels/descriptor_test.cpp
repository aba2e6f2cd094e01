// Validation: accepted and rejected calls, and default parameters.
#include <doctest/doctest.h>

#include <cmath>

#include "kernels/registry.hpp"
#include "support/engine_fixture.hpp"

namespace dala::test {
namespace {

const TensorType kFloats{DType::f32, {2, 3}};
const TensorType kBytes{DType::u8, {2, 3}};
const TensorType kLongs{DType::s64, {2, 3}};

std::string refusal(const std::string& kernel, const std::vector<TensorType>& inputs,
                    const TensorType& output, const Params& params = {}) {
  static const Registry registry;
  return failure([&] { validate(*registry.find(kernel), inputs, output, params); });
}

Descriptor kernel_with(const ParamSpec& spec) {
  Descriptor descriptor;
  descriptor.name = "blur";
  descriptor.dtypes = {DType::f32};
  descriptor.params = {spec};
  return descriptor;
}

std::string refusal(const ParamSpec& spec, const ParamValue& value) {
  return failure([&] { validate(kernel_with(spec), {kFloats}, kFloats, {{spec.name, value}}); });
}

}  // namespace

TEST_CASE("the number of inputs is checked first") {
  CHECK(refusal("elementwise_add", {kFloats, kFloats, kFloats}, kFloats, {{"x", true}}) ==
        "arity_mismatch: elementwise_add takes 2 inputs, got 3");
  CHECK(refusal("exp", {}, kFloats) == "arity_mismatch: exp takes 1 input, got 0");
  CHECK(refusal("fill", {kFloats}, kFloats) == "arity_mismatch: fill takes no input, got 1");
}

TEST_CASE("unknown parameters are refused, with those there are") {
  CHECK(refusal("relu", {kFloats}, kFloats, {{"slop", 0.1}}) ==
        "unknown_param: relu has no parameter slop; it takes slope");
  CHECK(refusal("exp", {kFloats}, kFloats, {{"base", 2.0}}) ==
        "unknown_param: exp has no parameter base; it takes none");
  CHECK(refusal("clamp", {kFloats}, kFloats, {{"low", 2.0}}) ==
        "unknown_param: clamp has no parameter low; it takes min and max");
}

TEST_CASE("required parameters are asked for") {
  CHECK(refusal("scalar_mul", {kFloats}, kFloats) ==
        "invalid_param: scalar_mul needs the parameter scalar");
  CHECK(refusal("fill", {}, kFloats) == "invalid_param: fill needs the parameter value");
}

TEST_CASE("an element must fit the output's type") {
  CHECK(refusal("scalar_mul", {kBytes}, kBytes, {{"scalar", 0.5}}) ==
        "invalid_param: scalar of scalar_mul must be an integer between 0 and 255 for u8, got 0.5");
  CHECK(refusal("fill", {}, kBytes, {{"value", int64_t{256}}}) ==
        "invalid_param: value of fill must be an integer between 0 and 255 for u8, got 256");
  CHECK(refusal("fill", {}, kBytes, {{"value", std::string("nan")}}) ==
        "invalid_param: value of fill must be an integer between 0 and 255 for u8, got nan");
  CHECK(refusal("fill", {}, kLongs, {{"value", 1e19}}) ==
        "invalid_param: value of fill must be an integer between -9223372036854775808 and "
        "9223372036854775807 for s64, got 1e+19");
  CHECK(refusal("fill", {}, kFloats, {{"value", std::string("blue")}}) ==
        "invalid_param: value of fill must be a number, got blue");
  CHECK(refusal("fill", {}, kFloats, {{"value", std::string("3")}}) ==
        "invalid_param: value of fill must be a number, got \"3\"");
  CHECK(refusal("fill", {}, kFloats, {{"value", true}}) ==
        "invalid_param: value of fill must be a number, got true");
  CHECK(refusal("fill", {}, kBytes, {{"value", 3.0}}) == "no error");
  CHECK(refusal("fill", {}, kFloats, {{"value", std::string("neg_infinity")}}) == "no error");
}

TEST_CASE("clamp wants its bounds in order") {
  CHECK(refusal("clamp", {kFloats}, kFloats, {{"min", 2.5}, {"max", int64_t{1}}}) ==
        "invalid_param: min of clamp must be at most max, got 2.5 and 1");
  CHECK(refusal("clamp", {kLongs}, kLongs,
                {{"min", int64_t{9007199254740993}}, {"max", int64_t{9007199254740992}}}) ==
        "invalid_param: min of clamp must be at most max, got 9007199254740993 and "
        "9007199254740992");
}

TEST_CASE("element types are checked") {
  CHECK(refusal("exp", {kBytes}, kBytes) ==
        "dtype_mismatch: input 0 of exp is u8, expected f32, f64, f16 or bf16");
  CHECK(refusal("elementwise_add", {kFloats, kBytes}, kFloats) ==
        "dtype_mismatch: input 1 of elementwise_add is u8, expected f32 like input 0");
  CHECK(refusal("elementwise_add", {kFloats, kFloats}, kBytes) ==
        "dtype_mismatch: the output of elementwise_add is u8, expected f32");
}

TEST_CASE("shapes must broadcast to the output's") {
  CHECK(refusal("elementwise_add", {kFloats, {DType::f32, {4}}}, kFloats) ==
        "shape_mismatch: input 1 of elementwise_add has shape {4}, which does not broadcast to the "
        "output's {2, 3}");
  CHECK(refusal("neg", {kFloats}, {DType::f32, {3}}) ==
        "shape_mismatch: input 0 of neg has shape {2, 3}, which does not broadcast to the output's "
        "{3}");
  CHECK(refusal("neg", {kFloats}, {DType::f32, {1, 3}}) ==
        "shape_mismatch: input 0 of neg has shape {2, 3}, which does not broadcast to the output's "
        "{1, 3}");
}

TEST_CASE("parameters of every kind") {
  ParamSpec spec;
  spec.name = "radius";
  spec.min = 1;
  spec.max = 64;
  CHECK(refusal(spec, 0.5) ==
        "invalid_param: radius of blur must be a number between 1 and 64, got 0.5");
  CHECK(refusal(spec, std::nan("")) ==
        "invalid_param: radius of blur must be a number between 1 and 64, got nan");
  CHECK(refusal(spec, int64_t{64}) == "no error");
  spec.kind = ParamSpec::Kind::integer;
  CHECK(refusal(spec, 3.0) ==
        "invalid_param: radius of blur must be an integer between 1 and 64, got 3");
  spec.max = 1e300;
  CHECK(refusal(spec, int64_t{0}) ==
        "invalid_param: radius of blur must be an integer of at least 1, got 0");
  spec.min = -1e300;
  spec.max = 5;
  CHECK(refusal(spec, int64_t{6}) ==
        "invalid_param: radius of blur must be an integer of at most 5, got 6");
  spec.kind = ParamSpec::Kind::flag;
  CHECK(refusal(spec, int64_t{1}) == "invalid_param: radius of blur must be true or false, got 1");
  CHECK(refusal(spec, false) == "no error");
  spec.kind = ParamSpec::Kind::choice;
  spec.choices = {"near", "far"};
  CHECK(refusal(spec, std::string("here")) ==
        "invalid_param: radius of blur must be near or far, got here");
  CHECK(refusal(spec, std::string("far")) == "no error");
  spec.kind = ParamSpec::Kind::axes;
  CHECK(refusal(spec, std::vector<double>{0, 0.5}) ==
        "invalid_param: radius of blur must be a list of integers, got {0, 0.5}");
  CHECK(refusal(spec, int64_t{1}) ==
        "invalid_param: radius of blur must be a list of integers, got 1");
}

TEST_CASE("a validated call has its defaults, and axes count from the front") {
  const Registry registry;
  const Call softmax = validate(*registry.find("softmax"), {kFloats}, kFloats, {});
  CHECK(softmax.integer("axis") == 1);
  const Call relu = validate(*registry.find("relu"), {kFloats}, kFloats, {});
  CHECK(relu.number("slope") == 0);
  const Call norm = validate(*registry.find("layer_norm"), {kFloats}, kFloats, {});
  CHECK(norm.number("epsilon") == 1e-5);
  const Call clamp = validate(*registry.find("clamp"), {kFloats}, kFloats, {});
  CHECK_FALSE(clamp.has("min"));
}

}  // namespace dala::test
