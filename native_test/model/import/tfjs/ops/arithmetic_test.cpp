// Elementwise TF.js operators, against the functions of the C library.
#include "model/import/tfjs/cases.hpp"
#include "model/import/tfjs/table.hpp"

namespace dala::test::tfjs {
namespace {

const std::vector<double> kAny{-2.5, -1, -0.3, 0, 0.4, 1.5, 7};
const std::vector<double> kOther{2, -3, 0.5, 1, -0.7, 1.5, 2};
const std::vector<double> kPositive{0.1, 0.5, 1, 1.5, 2, 7, 100};
const std::vector<double> kSmall{-0.9, -0.5, -0.1, 0, 0.2, 0.6, 0.9};
const std::vector<double> kTruths{0, 1, 0, 1, 1, 0, 1};
const std::vector<double> kOtherTruths{0, 0, 1, 1, 0, 1, 1};

Values row(const std::vector<double>& numbers, const std::string& type = "float32") {
  return {{static_cast<int64_t>(numbers.size())}, numbers, type};
}

Case one(const std::string& op, const std::vector<double>& x, double (*function)(double),
         const std::vector<std::string>& attributes = {}) {
  std::vector<double> expected;
  for (double each : x) expected.push_back(function(each));
  return {op, {row(x)}, attributes, {row(expected)}};
}

Case two(const std::string& op, double (*function)(double, double),
         const std::string& result = "float32", const std::string& type = "float32",
         const std::vector<double>& x = kAny, const std::vector<double>& y = kOther) {
  std::vector<double> expected;
  for (size_t i = 0; i < x.size(); ++i) expected.push_back(function(x[i], y[i]));
  const std::string tensorflow = type == "int32" ? "DT_INT32" : "DT_FLOAT";
  return {op, {row(x, type), row(y, type)}, {kind("T", tensorflow)}, {row(expected, result)}};
}

Case truth_of(const std::string& op, double (*function)(double, double)) {
  return two(op, function, "bool", "bool", kTruths, kOtherTruths);
}

std::vector<Case> functions() {
  return {
      one("Abs", kAny, [](double x) { return std::fabs(x); }),
      one("Acos", kSmall, [](double x) { return std::acos(x); }),
      one("Acosh", {1, 1.5, 3}, [](double x) { return std::acosh(x); }),
      one("Asin", kSmall, [](double x) { return std::asin(x); }),
      one("Asinh", kAny, [](double x) { return std::asinh(x); }),
      one("Atan", kAny, [](double x) { return std::atan(x); }),
      one("Atanh", kSmall, [](double x) { return std::atanh(x); }),
      one("Ceil", kAny, [](double x) { return std::ceil(x); }),
      one("Cos", kAny, [](double x) { return std::cos(x); }),
      one("Cosh", kAny, [](double x) { return std::cosh(x); }),
      one("Elu", kAny, [](double x) { return x < 0 ? std::exp(x) - 1 : x; }),
      one("Erf", kAny, [](double x) { return std::erf(x); }),
      one("Exp", kAny, [](double x) { return std::exp(x); }),
      one("Expm1", kAny, [](double x) { return std::expm1(x); }),
      one("Floor", kAny, [](double x) { return std::floor(x); }),
      one("LeakyRelu", kAny, [](double x) { return x < 0 ? 0.2 * x : x; }),
      one("LeakyRelu", kAny, [](double x) { return x < 0 ? 0.5 * x : x; }, {real("alpha", 0.5)}),
      one("Log", kPositive, [](double x) { return std::log(x); }),
      one("Log1p", kPositive, [](double x) { return std::log1p(x); }),
      one("Neg", kAny, [](double x) { return -x; }),
      one("Reciprocal", kPositive, [](double x) { return 1 / x; }),
      one("Relu", kAny, [](double x) { return std::max(x, 0.0); }),
      one("Relu6", kAny, [](double x) { return std::min(std::max(x, 0.0), 6.0); }),
      one("Round", kAny, [](double x) { return std::nearbyint(x); }),
      one("Rsqrt", kPositive, [](double x) { return 1 / std::sqrt(x); }),
      one("Selu", kAny,
          [](double x) {
            return 1.0507009873554805 * (x < 0 ? 1.6732632423543772 * std::expm1(x) : x);
          }),
      one("Sigmoid", kAny, [](double x) { return 1 / (1 + std::exp(-x)); }),
      one("Sign", kAny, [](double x) { return x < 0   ? -1.0
                                              : x > 0 ? 1.0
                                                      : 0.0; }),
      one("Sin", kAny, [](double x) { return std::sin(x); }),
      one("Sinh", kAny, [](double x) { return std::sinh(x); }),
      one("Softplus", kAny, [](double x) { return std::log1p(std::exp(x)); }),
      one("Sqrt", kPositive, [](double x) { return std::sqrt(x); }),
      one("Square", kAny, [](double x) { return x * x; }),
      one("Tan", kAny, [](double x) { return std::tan(x); }),
      one("Tanh", kAny, [](double x) { return std::tanh(x); }),
      one("Identity", kAny, [](double x) { return x; }),
      one("StopGradient", kAny, [](double x) { return x; }),
      one("PlaceholderWithDefault", kAny, [](double x) { return x; }),
      {"IdentityN", {row(kAny), row(kOther)}, {}, {row(kAny), row(kOther)}},
      {"IsNan", {row({1, NAN, INFINITY})}, {}, {row({0, 1, 0}, "bool")}},
      {"LogicalNot", {row({0, 1}, "bool")}, {}, {row({1, 0}, "bool")}},
      {"ClipByValue",
       {row(kAny), floats({}, {-1}), floats({}, {1})},
       {},
       {row({-1, -1, -0.3, 0, 0.4, 1, 1})}},
  };
}

std::vector<Case> pairs() {
  return {
      two("Add", [](double x, double y) { return x + y; }),
      two("AddV2", [](double x, double y) { return x + y; }),
      two("Sub", [](double x, double y) { return x - y; }),
      two("Mul", [](double x, double y) { return x * y; }),
      two("RealDiv", [](double x, double y) { return x / y; }),
      two("Div", [](double x, double y) { return x / y; }),
      two("Maximum", [](double x, double y) { return std::max(x, y); }),
      two("Minimum", [](double x, double y) { return std::min(x, y); }),
      two("SquaredDifference", [](double x, double y) { return (x - y) * (x - y); }),
      two(
          "Pow", [](double x, double y) { return std::pow(x, y); }, "float32", "float32", kPositive,
          kOther),
      two("Atan2", [](double x, double y) { return std::atan2(x, y); }),
      two("Atan2", [](double x, double y) { return std::atan2(x, y); }, "float32", "float32",
          {1, -1, 0, 0, -1, 1, 0}, {0, 0, 0, -1, -2, -2, 3}),
      two("FloorDiv", [](double x, double y) { return std::floor(x / y); }),
      two("FloorMod", [](double x, double y) { return x - std::floor(x / y) * y; }),
      two("Mod", [](double x, double y) { return std::fmod(x, y); }),
      two("DivNoNan", [](double x, double y) { return y == 0 ? 0 : x / y; }, "float32", "float32",
          kAny, {0, 1, 0, 0, 2, 3, 0}),
      two("FloorDiv", [](double x, double y) { return std::floor(x / y); }, "int32", "int32",
          {7, -7, 7, -7, 6}, {2, 2, -2, -2, 3}),
      two("FloorMod", [](double x, double y) { return x - std::floor(x / y) * y; }, "int32",
          "int32", {7, -7, 7, -7, 6}, {2, 2, -2, -2, 3}),
      two("Mod", [](double x, double y) { return std::fmod(x, y); }, "int32", "int32",
          {7, -7, 7, -7, 6}, {4, 4, -4, -4, 3}),
      two("BitwiseAnd", [](double x, double y) { return double(int(x) & int(y)); }, "int32",
          "int32", {12, 7}, {10, 5}),
      two(
          "Equal", [](double x, double y) { return double(x == y); }, "bool"),
      two(
          "NotEqual", [](double x, double y) { return double(x != y); }, "bool"),
      two(
          "Greater", [](double x, double y) { return double(x > y); }, "bool"),
      two(
          "GreaterEqual", [](double x, double y) { return double(x >= y); }, "bool"),
      two(
          "Less", [](double x, double y) { return double(x < y); }, "bool"),
      two(
          "LessEqual", [](double x, double y) { return double(x <= y); }, "bool"),
      truth_of("LogicalAnd", [](double x, double y) { return double(x != 0 && y != 0); }),
      truth_of("LogicalOr", [](double x, double y) { return double(x != 0 || y != 0); }),
      truth_of("LogicalXor", [](double x, double y) { return double((x != 0) != (y != 0)); }),
      {"AddN", {row({1, 2}), row({10, 20}), row({100, 200})}, {}, {row({111, 222})}},
      {"Prelu",
       {floats({2, 2}, {-1, -2, 3, -4}), floats({1, 2}, {0.1, 10})},
       {},
       {floats({2, 2}, {-0.1, -20, 3, -40})}},
      {"BiasAdd",
       {floats({1, 1, 2, 2}, {1, 2, 3, 4}), row({10, 20})},
       {word("data_format", "NHWC")},
       {floats({1, 1, 2, 2}, {11, 22, 13, 24})}},
      {"BiasAdd",
       {floats({1, 2, 1, 2}, {1, 2, 3, 4}), row({10, 20})},
       {word("data_format", "NCHW")},
       {floats({1, 2, 1, 2}, {11, 12, 23, 24})}},
  };
}

std::vector<Case> choices() {
  const Values x = floats({2, 2}, {1, 2, 3, 4});
  const Values y = floats({2, 2}, {10, 20, 30, 40});
  return {
      {"Cast", {row({-1.7, 1.7, 3})}, {kind("DstT", "DT_INT32")}, {row({-1, 1, 3}, "int32")}},
      {"Cast", {row({-1, 0, 3}, "int32")}, {kind("DstT", "DT_FLOAT")}, {row({-1, 0, 3})}},
      {"Cast", {row({-1, 0, 3})}, {kind("DstT", "DT_BOOL")}, {row({1, 0, 1}, "bool")}},
      {"Cast", {row({-1, 0, 3})}, {kind("DstT", "DT_INT64")}, {row({-1, 0, 3}, "int32")}},
      {"Select", {truths({2, 2}, {1, 0, 0, 1}), x, y}, {}, {floats({2, 2}, {1, 20, 30, 4})}},
      // A condition of rank 1 selects rows with Select, and broadcasts to columns with SelectV2.
      {"Select", {truths({2}, {1, 0}), x, y}, {}, {floats({2, 2}, {1, 2, 30, 40})}},
      {"Select", {truths({}, {0}), x, y}, {}, {y}},
      {"SelectV2", {truths({2}, {1, 0}), x, y}, {}, {floats({2, 2}, {1, 20, 3, 40})}},
  };
}

}  // namespace

TEST_CASE("TF.js: elementwise operators") {
  std::vector<Case> cases = functions();
  for (auto&& part : {pairs(), choices()}) cases.insert(cases.end(), part.begin(), part.end());
  check_cases(cases, model::tfjs::arithmetic_operators());
}

}  // namespace dala::test::tfjs
