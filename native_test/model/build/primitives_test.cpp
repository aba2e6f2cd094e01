// Primitives of operators: small tensors on the kernels of models, large ones on the registry.
#include "model/build/primitives.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "model/onnx_model.hpp"

namespace dala::test {

using model::ElementType;

TEST_CASE("narrow integers wrap at their own width") {
  OnnxWriter writer;
  writer.input("x", {2}, ElementType::i8).output("y", {2}, ElementType::i8);
  writer.node("Add", {"x", "x"}, {"y"});
  const auto outputs = load(writer)->predict_now({buffer<int32_t>({100, -3}, {2})});
  CHECK(read<int32_t>(outputs[0]) == std::vector<int32_t>{-56, -6});
}

namespace {

constexpr int64_t kLarge = 40000;  // more than any threshold

// Values with both signs, zeros and, at the end, a NaN.
std::vector<float> varied(size_t count, uint32_t seed) {
  std::vector<float> values = random_floats(count, seed, 4);
  for (size_t i = 0; i < count; i += 7) values[i] = 0;
  values.back() = NAN;
  return values;
}

// Runs y = op(a, b) for a small and a large size, and compares it with the formula.
template <typename Result>
void check_binary(const std::string& op, const std::function<double(double, double)>& formula,
                  ElementType type = ElementType::f32) {
  for (const int64_t size : {int64_t{50}, kLarge}) {
    CAPTURE(op);
    CAPTURE(size);
    OnnxWriter writer;
    writer.input("a", {"n"}).input("b", {"n"}).output("y", {"n"}, type);
    writer.node(op, {"a", "b"}, {"y"});
    const std::vector<float> a = varied(static_cast<size_t>(size), 1);
    const std::vector<float> b = random_floats(static_cast<size_t>(size), 2, 4);
    const auto y = read<Result>(load(writer)->predict_now({buffer(a), buffer(b)})[0]);
    REQUIRE(y.size() == a.size());
    size_t wrong = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      const double expected = formula(a[i], b[i]);
      const double got = y[i];
      const bool same = std::isnan(expected) ? std::isnan(got)
                                             : std::fabs(got - expected) <=
                                                   1e-5 * std::max(1.0, std::fabs(expected));
      wrong += same ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("arithmetic and comparisons of small and large tensors") {
  const auto nan_or = [](double a, double b, double result) {
    return std::isnan(a) || std::isnan(b) ? NAN : result;
  };
  check_binary<float>("Max", [&](double a, double b) { return nan_or(a, b, std::max(a, b)); });
  check_binary<float>("Min", [&](double a, double b) { return nan_or(a, b, std::min(a, b)); });
  check_binary<float>("Sub", [](double a, double b) { return a - b; });
  const auto boolean = ElementType::boolean;
  check_binary<uint8_t>(
      "Less", [](double a, double b) { return a < b; }, boolean);
  check_binary<uint8_t>(
      "GreaterOrEqual", [](double a, double b) { return a >= b; }, boolean);
  check_binary<uint8_t>(
      "Equal", [](double a, double b) { return a == b; }, boolean);
}

TEST_CASE("functions of small and large tensors") {
  const std::map<std::string, std::function<double(double)>> functions{
      {"Abs", [](double x) { return std::fabs(x); }},
      {"Ceil", [](double x) { return std::ceil(x); }},
      {"Cos", [](double x) { return std::cos(x); }},
      {"Floor", [](double x) { return std::floor(x); }},
      {"Log", [](double x) { return std::log(x); }},
      {"Neg", [](double x) { return -x; }},
      {"Sign", [](double x) { return x > 0   ? 1
                                     : x < 0 ? -1
                                             : x; }},
      {"Sin", [](double x) { return std::sin(x); }},
  };
  for (const auto& function : functions) {
    const std::string& op = function.first;
    const auto& formula = function.second;
    for (const int64_t size : {int64_t{50}, kLarge}) {
      CAPTURE(op);
      CAPTURE(size);
      OnnxWriter writer;
      writer.input("x", {"n"}).output("y").node(op, {"x"}, {"y"});
      const std::vector<float> x = varied(static_cast<size_t>(size), 3);
      const auto y = read<float>(load(writer)->predict_now({buffer(x)})[0]);
      size_t wrong = 0;
      for (size_t i = 0; i < y.size(); ++i) {
        const double expected = formula(x[i]);
        const bool same = std::isfinite(expected) ? std::fabs(y[i] - expected) <= 1e-5
                          : std::isnan(expected)  ? std::isnan(y[i])
                                                  : y[i] == expected;
        wrong += same ? 0 : 1;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("a selection by a condition that broadcasts, small and large") {
  for (const int64_t columns : {int64_t{5}, kLarge}) {
    OnnxWriter writer;
    writer.input("c", {2, 1}, ElementType::boolean).output("y", {}, ElementType::i64);
    writer.input("a", {2, "n"}, ElementType::i64).input("b", {"n"}, ElementType::i64);
    writer.node("Where", {"c", "a", "b"}, {"y"});
    const auto n = static_cast<size_t>(columns);
    std::vector<int64_t> a(2 * n);
    std::vector<int64_t> b(n);
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<int64_t>(i) - 3;
    for (size_t i = 0; i < n; ++i) b[i] = -static_cast<int64_t>(i) << 33;
    const auto y = read<int64_t>(load(writer)->predict_now(
        {buffer<uint8_t>({0, 1}, {2, 1}), buffer(a, {2, columns}), buffer(b, {columns})})[0]);
    REQUIRE(y.size() == a.size());
    CHECK(std::equal(b.begin(), b.end(), y.begin()));
    CHECK(std::equal(a.begin() + columns, a.end(), y.begin() + columns));
  }
}

}  // namespace dala::test
