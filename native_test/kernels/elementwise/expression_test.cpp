// Kernels built from an expression.
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

TEST_CASE("expressions that would overflow a compiler's stack are refused") {
  const auto refusal = [](const std::string& expression) {
    return failure([&] { make_pointwise_expression("f", expression, 1, {}); });
  };
  std::string sum = "x";
  for (int i = 0; i < 50'000; ++i) sum += "+x";
  CHECK(refusal(sum) ==
        "invalid_param: the expression of f has 100001 characters, at most 4096 are allowed");
  CHECK(refusal(std::string(200'000, '-') + "x") ==
        "invalid_param: the expression of f has 200001 characters, at most 4096 are allowed");
  CHECK(refusal(std::string(17, '-') + "x") ==
        "invalid_param: the expression of f has more than 16 prefix operators in a row");
  CHECK(refusal(std::string(65, '(') + "x" + std::string(65, ')')) ==
        "invalid_param: the expression of f nests parentheses more than 64 levels deep");
}

TEST_CASE("an expression of the maximum length and depth compiles") {
  std::string expression = std::string(64, '(') + "x" + std::string(64, ')') + "- - - - - - - -x";
  while (expression.size() + 2 <= 4096) expression += "+x";
  const Registered longest(make_pointwise_expression("longest", expression, 1, {}));
  const BufferPtr output = zeros(DType::f32, {2});
  run("longest", {buffer<float>({0, 1})}, output);
  const size_t terms = (expression.size() - 128 - 1 - 16) / 2;
  CHECK(read<float>(output)[1] == doctest::Approx(static_cast<float>(2 + terms)));
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
  CHECK(refusal("x) + (1") == "invalid_param: the expression of f has unbalanced parentheses");
  CHECK(refusal(" ") == "invalid_param: the expression of f is empty");
  CHECK(failure([] { make_pointwise_expression("f", "x", 5, {}); }) ==
        "invalid_param: f takes 1 to 4 inputs, got 5");
  CHECK(failure([] { make_pointwise_expression("f", "x", 1, {"2x"}); }) ==
        "invalid_param: parameter names of f must be C identifiers, got 2x");
  CHECK(failure([] { make_pointwise_expression("f", "x", 1, {"y"}); }) ==
        "invalid_param: the parameter name y of f is taken by an input or another parameter");
}

}  // namespace dala::test
