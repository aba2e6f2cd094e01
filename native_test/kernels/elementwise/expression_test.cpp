// Kernels made from an expression.
#include "kernels/elementwise/expression.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "support/engine_fixture.hpp"

namespace dala::test {
namespace {

struct Registered {
  explicit Registered(const Descriptor& descriptor) : name(descriptor.name) {
    engine().registry().add(descriptor);
  }
  ~Registered() { engine().registry().remove(name); }
  std::string name;
};

}  // namespace

TEST_CASE("an expression of one input") {
  const Registered swish(make_pointwise_expression("swish", "x / (1 + exp(-x))", 1, {}));
  const BufferPtr output = zeros(DType::f32, {4});
  run("swish", {buffer<float>({-2, 0, 1, 3})}, output);
  const std::vector<float> got = read<float>(output);
  const std::vector<float> inputs = {-2, 0, 1, 3};
  for (size_t i = 0; i < got.size(); ++i) {
    const double x = inputs[i];
    CHECK(got[i] == doctest::Approx(x / (1 + std::exp(-x))).epsilon(1e-6));
  }
}

TEST_CASE("an expression of two inputs and a parameter, which broadcasts") {
  const Registered blend(make_pointwise_expression("blended", "x * (1 - t) + y * t", 2, {"t"}));
  const BufferPtr output = zeros(DType::f32, {2, 2});
  run("blended", {buffer<float>({0, 1, 2, 3}, {2, 2}), buffer<float>({8, 4})}, output,
      {{"t", 0.5}});
  CHECK(read<float>(output) == std::vector<float>{4, 2.5F, 5, 3.5F});
  CHECK(failure([&] {
          run("blended", {output, output}, output);
        }) == "invalid_param: blended needs the parameter t");
  if (!engine().runtime().device().info().fp64) return;
  const BufferPtr doubles = zeros(DType::f64, {2});
  run("blended", {buffer<double>({0, 1}), buffer<double>({1, 1.1})}, doubles, {{"t", 0.1}});
  CHECK(read<double>(doubles)[0] == doctest::Approx(0.1).epsilon(1e-15));
}

TEST_CASE("an expression that does not compile is reported by the run") {
  const Registered broken(make_pointwise_expression("broken", "x + nowhere", 1, {}));
  const BufferPtr values = zeros(DType::f32, {4});
  const auto error = error_of([&] { run("broken", {values}, values); });
  REQUIRE(error);
  CHECK(error->reason == Reason::build_failed);
}

TEST_CASE("text that is more than an expression is refused") {
  const auto refusal = [](const std::string& expression) {
    return failure([&] { make_pointwise_expression("f", expression, 1, {}); });
  };
  CHECK(refusal("x; return 0") == "invalid_param: the expression of f must not contain ;");
  for (const char* text : {"x}", "({x", "#x", "\"x\"", "x\\", "x // y", "x /* y", "x[0]",
                           "*(global float *)x", "__builtin_trap()", "'x'", "x @ y"}) {
    CHECK_MESSAGE(refusal(text).starts_with("invalid_param: the expression of f must not contain"),
                  text);
  }
  CHECK(refusal("x\n+ 1") == "invalid_param: the expression of f must be one line of plain ASCII");
  CHECK(refusal("x) + (1") ==
        "invalid_param: the expression of f has parentheses that do not match");
  CHECK(refusal(" ") == "invalid_param: the expression of f is empty");
  CHECK(failure([] { make_pointwise_expression("f", "x", 5, {}); }) ==
        "invalid_param: f takes 1 to 4 inputs, got 5");
  CHECK(failure([] { make_pointwise_expression("f", "x", 1, {"2x"}); }) ==
        "invalid_param: parameters of f are named like C variables, got 2x");
  CHECK(failure([] { make_pointwise_expression("f", "x", 1, {"y"}); }) ==
        "invalid_param: the parameter y of f has a name already taken");
}

}  // namespace dala::test
