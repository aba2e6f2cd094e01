// References of the functions of one element, of operations on bits, and of select.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/elementwise/pointwise_cases.hpp"
#include "support/pipeline.hpp"

namespace dala::test {
namespace {

const RealFunction kNoReals;
const IntegerFunction kNoIntegers;

Subject function(const RealFunction& of_reals, long double units = 1) {
  return unary(of_reals, kNoIntegers, units * kF32, units * kF64);
}

// Results close to zero are compared with an error relative to this scale.
Subject function_at_scale(const RealFunction& of_reals, long double scale) {
  Subject subject = function(of_reals);
  subject.expected = [of_reals, scale](const Case& example, const std::vector<Tensor>& inputs) {
    Tensor result = pointwise(of_reals, kNoIntegers)(example, inputs);
    for (long double value : result.reals) {
      result.scales.push_back(std::max(scale, std::fabs(value)));
    }
    return result;
  };
  return subject;
}

// Maps inputs into the domain of a function.
Subject within(Subject subject, long double low, long double high) {
  subject.prepare = [low, high](const Case&, std::vector<Tensor>& inputs) {
    for (long double& x : inputs[0].reals) {
      x = static_cast<float>(low + (x + 4) / 8 * (high - low));
    }
  };
  return subject;
}

// By Newton's method, since the C library has no such function.
long double erf_inverse(long double x) {
  if (std::fabs(x) >= 1) return x * std::numeric_limits<long double>::infinity();
  long double y = 0;
  for (int n = 0; n < 200; ++n) {
    const long double slope = 2 * std::numbers::inv_sqrtpi_v<long double> * std::exp(-y * y);
    const long double excess = x > 0 ? (1 - x) - std::erfc(y) : std::erfc(-y) - (1 + x);
    y -= excess / slope;
  }
  return y;
}

const SubjectOf kSign("sign", unary([](auto x, auto) { return x > 0   ? 1.0L
                                                              : x < 0 ? -1.0L
                                                                      : x; },
                                    [](auto x, auto) { return x > 0   ? 1
                                                              : x < 0 ? -1
                                                                      : 0; }));
const SubjectOf kCeil("ceil", function([](auto x, auto) { return std::ceil(x); }, 0));
const SubjectOf kFloor("floor", function([](auto x, auto) { return std::floor(x); }, 0));
const SubjectOf kRound("round", function([](auto x, auto) { return std::round(x); }, 0));
const SubjectOf kSin("sin", function_at_scale([](auto x, auto) { return std::sin(x); }, 0.1L));
const SubjectOf kCos("cos", function_at_scale([](auto x, auto) { return std::cos(x); }, 0.1L));
const SubjectOf kTan("tan", function_at_scale([](auto x, auto) { return std::tan(x); }, 0.1L));
const SubjectOf kAsin("asin", within(function([](auto x, auto) { return std::asin(x); }), -1, 1));
const SubjectOf kAcos("acos",
                      within(function([](auto x, auto) { return std::acos(x); }), -1, 1.25L));
const SubjectOf kAtan("atan", function([](auto x, auto) { return std::atan(x); }));
const SubjectOf kSinh("sinh", function([](auto x, auto) { return std::sinh(x); }));
const SubjectOf kCosh("cosh", function([](auto x, auto) { return std::cosh(x); }));
const SubjectOf kAsinh("asinh", function([](auto x, auto) { return std::asinh(x); }));
const SubjectOf kAcosh("acosh", within(function([](auto x, auto) { return std::acosh(x); }), 1, 9));
const SubjectOf kAtanh("atanh",
                       within(function([](auto x, auto) { return std::atanh(x); }), -1, 1));
const SubjectOf kExpm1("expm1", function([](auto x, auto) { return std::expm1(x); }));
const SubjectOf kLog1p("log1p",
                       within(function([](auto x, auto) { return std::log1p(x); }), -1, 3));
const SubjectOf kCbrt("cbrt", function([](auto x, auto) { return std::cbrt(x); }));
const SubjectOf kRsqrt("rsqrt", function([](auto x, auto) { return 1 / std::sqrt(x); }));
const SubjectOf kErf("erf", function([](auto x, auto) { return std::erf(x); }, 2));
const SubjectOf kErfc("erfc", function([](auto x, auto) { return std::erfc(x); }, 4));
const SubjectOf kErfInv("erf_inv",
                        within(function([](auto x, auto) { return erf_inverse(x); }, 2), -1, 1));
const SubjectOf kAtan2("atan2", binary([](auto a, auto b) { return std::atan2(a, b); }, kNoIntegers,
                                       kF32, kF64));
const SubjectOf kRemainder("remainder",
                           binary([](auto a, auto b) { return std::fmod(a, b); },
                                  [](auto a, auto b) { return b == 0 ? __int128{0} : a % b; }));

Subject bits(const IntegerFunction& of_integers) { return binary(kNoReals, of_integers); }

const SubjectOf kAnd("bitwise_and", bits([](auto a, auto b) { return a & b; }));
const SubjectOf kOr("bitwise_or", bits([](auto a, auto b) { return a | b; }));
const SubjectOf kXor("bitwise_xor", bits([](auto a, auto b) { return a ^ b; }));
const SubjectOf kNot("bitwise_not", unary(kNoReals, [](auto x, auto) { return ~x; }));

// References that depend on the width of the type.
using OfType = std::function<int64_t(DType, int64_t, int64_t)>;

Subject typed(const OfType& of_type, bool two) {
  return {
      [two](DType dtype) { return two ? binary_cases(dtype) : unary_cases(dtype); },
      [of_type](const Case& example, const std::vector<Tensor>& inputs) {
        Tensor result(example.output);
        for (size_t i = 0; i < result.size(); ++i) {
          int64_t values[2] = {0, 0};
          for (size_t n = 0; n < inputs.size(); ++n) {
            values[n] =
                inputs[n].integers[broadcast_index(inputs[n].type.shape, example.output.shape, i)];
          }
          result.integers[i] = of_type(example.output.dtype, values[0], values[1]);
        }
        return result;
      }};
}

int64_t width_of(DType dtype) { return static_cast<int64_t>(8 * size_of(dtype)); }

uint64_t bits_of(DType dtype, int64_t x) {
  return static_cast<uint64_t>(x) & (~uint64_t{0} >> (64 - width_of(dtype)));
}

// Every second amount is within the width.
Subject shift(const OfType& of_type) {
  Subject subject = typed(of_type, true);
  subject.prepare = [](const Case& example, std::vector<Tensor>& inputs) {
    for (size_t i = 0; i < inputs[1].size(); i += 2) {
      const auto amount = bits_of(example.output.dtype, inputs[1].integers[i]);
      inputs[1].integers[i] = static_cast<int64_t>(
          amount % (static_cast<uint64_t>(width_of(example.output.dtype)) + 2));
    }
  };
  return subject;
}

const SubjectOf kLeft("left_shift", shift([](DType dtype, int64_t a, int64_t b) {
                        if (b < 0 || b >= width_of(dtype)) return int64_t{0};
                        return wrap(dtype, static_cast<__int128>(a) * (__int128{1} << b));
                      }));
const SubjectOf kRight("right_shift", shift([](DType dtype, int64_t a, int64_t b) {
                         const __int128 number = number_of(dtype, a);
                         if (b < 0 || b >= width_of(dtype)) return number < 0 ? int64_t{-1} : 0;
                         return wrap(dtype, number >> b);
                       }));
const SubjectOf kCount("population_count",
                       typed([](DType dtype, int64_t x,
                                int64_t) { return int64_t{std::popcount(bits_of(dtype, x))}; },
                             false));
const SubjectOf kZeros(
    "count_leading_zeros",
    typed([](DType dtype, int64_t x,
             int64_t) { return std::countl_zero(bits_of(dtype, x)) - (64 - width_of(dtype)); },
          false));

std::vector<Case> select_cases(DType dtype) {
  std::vector<Case> cases;
  for (const Shape& shape : shapes()) {
    cases.push_back({{{DType::u8, shape}, {dtype, shape}, {dtype, shape}}, {dtype, shape}});
  }
  for (const auto& [output, a, b] : broadcasts()) {
    cases.push_back({{{DType::u8, a}, {dtype, b}, {dtype, output}}, {dtype, output}});
    cases.push_back({{{DType::u8, output}, {dtype, a}, {dtype, b}}, {dtype, output}});
  }
  // A scalar in each position.
  const Shape plane{3, 70};
  cases.push_back({{{DType::u8, {}}, {dtype, plane}, {dtype, plane}}, {dtype, plane}});
  cases.push_back({{{DType::u8, plane}, {dtype, {}}, {dtype, plane}}, {dtype, plane}});
  cases.push_back({{{DType::u8, plane}, {dtype, plane}, {dtype, {}}}, {dtype, plane}});
  cases.push_back({{{DType::u8, plane}, {dtype, {}}, {dtype, {}}}, {dtype, plane}});
  return cases;
}

const SubjectOf kSelect("select",
                        {select_cases, [](const Case& example, const std::vector<Tensor>& inputs) {
                           Tensor result(example.output);
                           const Shape& shape = example.output.shape;
                           for (size_t i = 0; i < result.size(); ++i) {
                             const auto at = [&](size_t n) {
                               return broadcast_index(inputs[n].type.shape, shape, i);
                             };
                             const size_t from = inputs[0].integers[at(0)] != 0 ? 1 : 2;
                             if (result.is_real()) {
                               result.reals[i] = inputs[from].reals[at(from)];
                             } else {
                               result.integers[i] = inputs[from].integers[at(from)];
                             }
                           }
                           return result;
                         }});

template <typename T>
std::vector<T> results(const std::string& kernel, const std::vector<T>& xs) {
  const BufferPtr output = zeros(dtype_of<T>(), {static_cast<int64_t>(xs.size())});
  run(kernel, {buffer(xs)}, output);
  return read<T>(output);
}

}  // namespace

TEST_CASE_TEMPLATE("functions at their edges", T, float, double) {
  if (sizeof(T) == 8 && !engine().runtime().device().info().fp64) return;
  const T inf = std::numeric_limits<T>::infinity();
  const T nan = std::numeric_limits<T>::quiet_NaN();
  CHECK(results<T>("erf_inv", {0, 1, -1}) == std::vector<T>{0, inf, -inf});
  CHECK(std::isnan(results<T>("erf_inv", {2})[0]));
  CHECK(results<T>("round", {0.5, -0.5, 1.5, 2.5, inf}) == std::vector<T>{1, -1, 2, 3, inf});
  CHECK(results<T>("rsqrt", {4, 0, inf}) == std::vector<T>{0.5, inf, 0});
  CHECK(std::isnan(results<T>("sign", {nan})[0]));
  CHECK(std::signbit(results<T>("sign", {T{-0.0}})[0]));
  CHECK(results<T>("erfc", {-inf, inf}) == std::vector<T>{2, 0});
}

TEST_CASE("comparison, select and functions become one kernel in a pipeline") {
  std::vector<float> xs(5000);
  for (size_t i = 0; i < xs.size(); ++i) xs[i] = static_cast<float>(i) / 100 - 25;
  const BufferPtr x = buffer(xs);
  const BufferPtr whole = temporary(DType::f32, {5000});
  const BufferPtr negative = temporary(DType::u8, {5000});
  const BufferPtr output = zeros(DType::f32, {5000});
  TestPipeline pipeline;
  pipeline.add("floor", {x}, whole)
      .add("less", {x, buffer<float>({0.0F})}, negative)
      .add("select", {negative, whole, x}, output);
  const PipelinePlan plan = pipeline.plan();
  CHECK(groups(plan) == "0 1 2");
  TestPipeline::run(plan);
  const std::vector<float> got = read<float>(output);
  for (size_t i = 0; i < xs.size(); ++i) {
    CHECK_MESSAGE(got[i] == (xs[i] < 0 ? std::floor(xs[i]) : xs[i]), i);
  }
}

TEST_CASE("select says which input has the wrong type") {
  const BufferPtr floats = zeros(DType::f32, {2});
  CHECK(failure([&] {
          run("select", {floats, floats, floats}, floats);
        }) == "dtype_mismatch: input 0 of select is f32, expected u8");
  CHECK(failure([&] {
          run("select", {zeros(DType::u8, {2}), floats, zeros(DType::s32, {2})}, floats);
        }) == "dtype_mismatch: input 2 of select is s32, expected f32 like input 1");
  CHECK(failure([&] {
          run("bitwise_and", {floats, floats}, floats);
        }) ==
        "dtype_mismatch: input 0 of bitwise_and is f32, "
        "expected s32, s64, u32, u8, s8, s16, u16 or u64");
}

}  // namespace dala::test
