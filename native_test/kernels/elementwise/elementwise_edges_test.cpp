// Edge cases of the elementwise kernels: special values, wrapping, saturation.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "support/engine_fixture.hpp"

namespace dala::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

template <typename T>
std::vector<T> unary_result(const std::string& kernel, const std::vector<T>& input,
                            const Params& params = {}) {
  const BufferPtr output = zeros(dtype_of<T>(), {static_cast<int64_t>(input.size())});
  run(kernel, {buffer(input)}, output, params);
  return read<T>(output);
}

template <typename T>
std::vector<T> binary_result(const std::string& kernel, const std::vector<T>& a,
                             const std::vector<T>& b) {
  const BufferPtr output = zeros(dtype_of<T>(), {static_cast<int64_t>(a.size())});
  run(kernel, {buffer(a), buffer(b)}, output);
  return read<T>(output);
}

template <typename To, typename From>
std::vector<To> cast(const std::vector<From>& input) {
  const BufferPtr output = zeros(dtype_of<To>(), {static_cast<int64_t>(input.size())});
  run("cast", {buffer(input)}, output);
  return read<To>(output);
}

// Elements as text, which compares equal where both are NaN.
template <typename T>
std::string show(const std::vector<T>& elements) {
  std::string result;
  for (T element : elements) {
    const bool nan = element != element;
    result += nan ? "nan " : text(+element, " ");
  }
  return result;
}

}  // namespace

TEST_CASE("integer division never traps") {
  constexpr auto kMin32 = std::numeric_limits<int32_t>::min();
  constexpr auto kMin64 = std::numeric_limits<int64_t>::min();
  CHECK(binary_result<int32_t>("elementwise_div", {kMin32, 7, -7, 5, kMin32, 0},
                               {-1, 0, 2, -1, 0, 0}) ==
        std::vector<int32_t>{kMin32, 0, -3, -5, 0, 0});
  CHECK(binary_result<int64_t>("elementwise_div", {kMin64, 7, kMin64}, {-1, 0, 2}) ==
        std::vector<int64_t>{kMin64, 0, kMin64 / 2});
  CHECK(binary_result<uint8_t>("elementwise_div", {255, 7}, {0, 2}) == std::vector<uint8_t>{0, 3});
}

TEST_CASE("float division follows IEEE") {
  CHECK(show(binary_result<float>("elementwise_div", {1, -1, 0, 1}, {0, 0, 0, kInf})) ==
        "inf -inf nan 0 ");
}

TEST_CASE("min and max return NaN when either argument is NaN") {
  for (const char* kernel : {"elementwise_min", "elementwise_max"}) {
    CHECK(show(binary_result<float>(kernel, {kNan, 1, kNan, kNan}, {1, kNan, kNan, -kInf})) ==
          "nan nan nan nan ");
  }
  CHECK(show(binary_result<float>("elementwise_max", {-kInf, kInf}, {1, 1})) == "1 inf ");
}

TEST_CASE("integer powers wrap, and negative ones truncate") {
  CHECK(binary_result<int32_t>("elementwise_pow", {2, 3, -2, 1, -1, -1, 0, 5, 0, 7},
                               {31, 40, 3, -5, -3, -4, -1, -1, 0, 0}) ==
        std::vector<int32_t>{std::numeric_limits<int32_t>::min(), 689956897, -8, 1, -1, 1, 0, 0, 1,
                             1});
  CHECK(binary_result<uint8_t>("elementwise_pow", {2, 3, 255}, {8, 5, 2}) ==
        std::vector<uint8_t>{0, 243, 1});
}

template <typename T>
void check_functions_on_a_grid(long double tolerance) {
  std::vector<T> numbers = {0, 1, 2, 3, 0.5, 1.5, 10, 1e-3, 1e10, 1e30, 1e-30, 7, 100, 33.25};
  numbers.push_back(std::numeric_limits<T>::denorm_min());
  numbers.push_back(std::numeric_limits<T>::min());
  numbers.push_back(std::numeric_limits<T>::max());
  numbers.push_back(std::numeric_limits<T>::infinity());
  numbers.push_back(std::numeric_limits<T>::quiet_NaN());
  for (size_t i = 0, positive = numbers.size(); i < positive; ++i) numbers.push_back(-numbers[i]);
  std::vector<T> bases;
  std::vector<T> exponents;
  for (T base : numbers) {
    for (T exponent : numbers) {
      bases.push_back(base);
      exponents.push_back(exponent);
    }
  }
  const std::vector<T> powers = binary_result<T>("elementwise_pow", bases, exponents);
  const std::vector<T> logs = unary_result<T>("log", bases);
  const auto agrees = [tolerance](T got, T expected) {
    if (std::isnan(expected)) return std::isnan(got);
    // Devices may flush denormals to 0.
    if (std::fabs(expected) < std::numeric_limits<T>::min()) {
      return std::fabs(got) <= std::numeric_limits<T>::min();
    }
    return got == expected || std::fabs(got - expected) <= tolerance * std::fabs(expected);
  };
  for (size_t i = 0; i < bases.size(); ++i) {
    CHECK_MESSAGE(agrees(powers[i], std::pow(bases[i], exponents[i])), bases[i],
                  " to the power of ", exponents[i], " is ", powers[i]);
    CHECK_MESSAGE(agrees(logs[i], std::log(bases[i])), "log of ", bases[i], " is ", logs[i]);
  }
}

TEST_CASE("pow and log at the ends of their ranges") {
  check_functions_on_a_grid<float>(4e-6L);
  if (engine().runtime().device().info().fp64) check_functions_on_a_grid<double>(2e-14L);
}

TEST_CASE("relu maps -inf to 0 and keeps NaN") {
  CHECK(show(unary_result<float>("relu", {-kInf, kInf, kNan, -1, 2})) == "0 inf nan 0 2 ");
  CHECK(show(unary_result<float>("relu", {-kInf, kInf, kNan, -1, 2}, {{"slope", 0.5}})) ==
        "-inf inf nan -0.5 2 ");
}

TEST_CASE("functions at the ends of their range") {
  CHECK(show(unary_result<float>("exp", {-kInf, 0, kInf, 1000, -1000})) == "0 1 inf inf 0 ");
  CHECK(show(unary_result<float>("log", {0, 1, kInf, -1})) == "-inf 0 inf nan ");
  CHECK(show(unary_result<float>("sqrt", {0, 4, kInf, -1})) == "0 2 inf nan ");
  CHECK(show(unary_result<float>("sigmoid", {-kInf, 0, kInf, -1000, 1000, kNan})) ==
        "0 0.5 1 0 1 nan ");
  CHECK(show(unary_result<float>("tanh", {-kInf, 0, kInf, -50, 50, kNan})) == "-1 0 1 -1 1 nan ");
}

TEST_CASE("neg and abs keep the smallest integer as it is") {
  constexpr auto kMin = std::numeric_limits<int64_t>::min();
  CHECK(unary_result<int64_t>("neg", {kMin, 5}) == std::vector<int64_t>{kMin, -5});
  CHECK(unary_result<int64_t>("abs", {kMin, -5}) == std::vector<int64_t>{kMin, 5});
}

TEST_CASE("clamp keeps NaN and takes infinite bounds") {
  CHECK(show(unary_result<float>("clamp", {kNan, -kInf, 5, kInf},
                                 {{"min", int64_t{0}}, {"max", std::string("infinity")}})) ==
        "nan 0 5 inf ");
}

TEST_CASE("fill takes every value of its type") {
  const BufferPtr longs = zeros(DType::s64, {3});
  run("fill", {}, longs, {{"value", int64_t{9007199254740993}}});
  CHECK(read<int64_t>(longs) == std::vector<int64_t>(3, 9007199254740993));
  const BufferPtr floats = zeros(DType::f32, {2});
  run("fill", {}, floats, {{"value", std::string("nan")}});
  CHECK(show(read<float>(floats)) == "nan nan ");
}

TEST_CASE("casts to integers truncate, saturate and take NaN as 0") {
  CHECK(cast<uint8_t, float>({-1, -0.9F, 0.9F, 255.9F, 256, kInf, -kInf, kNan}) ==
        std::vector<uint8_t>{0, 0, 0, 255, 255, 255, 0, 0});
  CHECK(cast<int32_t, float>({2147483648.0F, -2147483648.0F, -3e9F, 2147483520.0F, kNan, -1.9F}) ==
        std::vector<int32_t>{2147483647, -2147483647 - 1, -2147483647 - 1, 2147483520, 0, -1});
  CHECK(cast<int64_t, float>({9223372036854775808.0F, -1e30F, kNan}) ==
        std::vector<int64_t>{std::numeric_limits<int64_t>::max(),
                             std::numeric_limits<int64_t>::min(), 0});
  CHECK(cast<uint32_t, float>({4294967296.0F, 4294967040.0F, -5}) ==
        std::vector<uint32_t>{4294967295U, 4294967040U, 0});
}

TEST_CASE("casts between integers keep the low bits, those to floats round to nearest") {
  CHECK(cast<uint8_t, int32_t>({-1, 256, 511}) == std::vector<uint8_t>{255, 0, 255});
  CHECK(cast<int32_t, uint32_t>({4294967295U}) == std::vector<int32_t>{-1});
  CHECK(cast<float, int32_t>({16777217, 16777219, -16777219}) ==
        std::vector<float>{16777216, 16777220, -16777220});
  CHECK(cast<float, int64_t>({std::numeric_limits<int64_t>::max()}) ==
        std::vector<float>{9223372036854775808.0F});
}

}  // namespace dala::test
