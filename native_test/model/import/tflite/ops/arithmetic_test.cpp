// Elementwise TFLite operators.
#include "model/import/tflite/operator_cases.hpp"

namespace dala::test {
namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("TFLite: arithmetic") {
  {
    const std::vector<double> positive{0.25, 1, 2, 9};
    check_each("ABS", [](double x) { return std::fabs(x); });
    check_each("CEIL", [](double x) { return std::ceil(x); });
    check_each("COS", [](double x) { return std::cos(x); });
    check_each("ELU", [](double x) { return x < 0 ? std::expm1(x) : x; });
    check_each("EXP", [](double x) { return std::exp(x); });
    check_each("FLOOR", [](double x) { return std::floor(x); });
    check_each("HARD_SWISH", [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; });
    check_each(
        "LOG", [](double x) { return std::log(x); }, positive);
    check_each("LOGISTIC", [](double x) { return 1 / (1 + std::exp(-x)); });
    check_each("NEG", [](double x) { return -x; });
    check_each("RELU", [](double x) { return std::max(x, 0.0); });
    check_each("RELU6", [](double x) { return std::clamp(x, 0.0, 6.0); });
    check_each("RELU_0_TO_1", [](double x) { return std::clamp(x, 0.0, 1.0); });
    check_each("RELU_N1_TO_1", [](double x) { return std::clamp(x, -1.0, 1.0); });
    check_each("ROUND", [](double x) { return std::nearbyint(x); });  // ties to even
    check_each(
        "RSQRT", [](double x) { return 1 / std::sqrt(x); }, positive);
    check_each("SIGN", [](double x) { return (x > 0) - (x < 0); });
    check_each("SIN", [](double x) { return std::sin(x); });
    check_each(
        "SQRT", [](double x) { return std::sqrt(x); }, positive);
    check_each("SQUARE", [](double x) { return x * x; });
    check_each("TANH", [](double x) { return std::tanh(x); });
    check_each("ZEROS_LIKE", [](double) { return 0; });
    check_each(
        "LEAKY_RELU", [](double x) { return x < 0 ? 0.25 * x : x; }, {-2, 0, 3},
        FlatTable().real(0, 0.25F));
    const auto exact = [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); };
    const auto by_tanh = [](double x) {
      return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    };
    check_each("GELU", exact, {-2, -0.5, 0, 3});
    check_each("GELU", by_tanh, {-2, -0.5, 0, 3}, FlatTable().flag(0));
  }

  {
    check_both("ADD", [](double a, double b) { return a + b; });
    check_both("DIV", [](double a, double b) { return a / b; });
    check_both("FLOOR_DIV", [](double a, double b) { return std::floor(a / b); });
    check_both("FLOOR_MOD", [](double a, double b) { return a - std::floor(a / b) * b; });
    check_both("MAXIMUM", [](double a, double b) { return std::max(a, b); });
    check_both("MINIMUM", [](double a, double b) { return std::min(a, b); });
    check_both("MUL", [](double a, double b) { return a * b; });
    check_both("POW", [](double a, double b) { return std::pow(a, b); });
    check_both("SQUARED_DIFFERENCE", [](double a, double b) { return (a - b) * (a - b); });
    check_both("SUB", [](double a, double b) { return a - b; });
    check_both(
        "EQUAL", [](double a, double b) { return a == b; }, LiteType::boolean);
    check_both(
        "GREATER", [](double a, double b) { return a > b; }, LiteType::boolean);
    check_both(
        "GREATER_EQUAL", [](double a, double b) { return a >= b; }, LiteType::boolean);
    check_both(
        "LESS", [](double a, double b) { return a < b; }, LiteType::boolean);
    check_both(
        "LESS_EQUAL", [](double a, double b) { return a <= b; }, LiteType::boolean);
    check_both(
        "NOT_EQUAL", [](double a, double b) { return a != b; }, LiteType::boolean);
    // Fused activations.
    const auto with = [&](int activation, const std::function<double(double)>& formula) {
      check_both(
          "SUB", [&](double a, double b) { return formula(a - b); }, LiteType::f32,
          FlatTable().byte(0, activation));
    };
    with(1, [](double x) { return std::clamp(x, 0.0, kEndless); });
    with(2, [](double x) { return std::clamp(x, -1.0, 1.0); });
    with(3, [](double x) { return std::clamp(x, 0.0, 6.0); });
    with(4, [](double x) { return std::tanh(x); });
    check("ADD", {}, {{{2}, {1, 2}, LiteType::i32}, {{2}, {10, 20}, LiteType::i32}},
          {{{2}, {11, 22}, LiteType::i32}});
    check("ADD_N", {}, {{{2}, {1, 2}}, {{2}, {10, 20}}, {{2}, {5, 5}}}, {{{2}, {16, 27}}});
    check("PRELU", {},
          {{{1, 2, 1, 2}, {-1, -2, 3, -4}}, constant_of({1, 1, 2}, {0.5, 2}, LiteType::f32)},
          {{{1, 2, 1, 2}, {-0.5, -4, 3, -8}}});
  }
  check_complete(model::tflite::arithmetic_operators());
}

}  // namespace dala::test
