// Reference implementations of the elementwise kernels.
#include <cmath>
#include <limits>

#include "kernels/elementwise/pointwise_cases.hpp"

namespace dala::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

__int128 integer_power(__int128 base, __int128 exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 != 0 ? -1 : 1) : 0;
  uint64_t result = 1;
  auto square = static_cast<uint64_t>(base);
  for (auto rest = static_cast<uint64_t>(exponent); rest != 0; rest /= 2) {
    if (rest % 2 == 1) result *= square;
    square *= square;
  }
  return static_cast<__int128>(result);
}

const IntegerFunction kNoIntegers;

const auto kPlus = [](auto a, auto b) { return a + b; };
const auto kMinus = [](auto a, auto b) { return a - b; };
const auto kTimes = [](auto a, auto b) { return a * b; };
const SubjectOf kAdd("elementwise_add", binary(kPlus, kPlus, 0, 0, kPlus));
const SubjectOf kSub("elementwise_sub", binary(kMinus, kMinus, 0, 0, kMinus));
const SubjectOf kMul("elementwise_mul", binary(kTimes, kTimes, 0, 0, kTimes));
const SubjectOf kDiv("elementwise_div",
                     binary([](auto a, auto b) { return a / b; },
                            [](auto a, auto b) { return b == 0 ? __int128{0} : a / b; }, 3e-7L,
                            6e-16L, [](auto a, auto b) { return a / b; }));
const SubjectOf kMin("elementwise_min", binary([](auto a, auto b) { return std::min(a, b); },
                                               [](auto a, auto b) { return std::min(a, b); }));
const SubjectOf kMax("elementwise_max", binary([](auto a, auto b) { return std::max(a, b); },
                                               [](auto a, auto b) { return std::max(a, b); }));
const SubjectOf kPow("elementwise_pow", binary([](auto a, auto b) { return std::pow(a, b); },
                                               integer_power, 4 * kF32, 4 * kF64));
const SubjectOf kAbs("abs", unary([](auto x, auto) { return std::fabs(x); },
                                  [](auto x, auto) { return x < 0 ? -x : x; }));
const SubjectOf kNeg("neg", unary([](auto x, auto) { return -x; }, [](auto x, auto) { return -x; },
                                  0, 0, [](auto x, auto) { return -x; }));
const SubjectOf kExp("exp",
                     unary([](auto x, auto) { return std::exp(x); }, kNoIntegers, kF32, kF64));
const SubjectOf kLog("log", {[](DType dtype) { return unary_cases(dtype); },
                             [](const Case& example, const std::vector<Tensor>& inputs) {
                               Tensor result = pointwise([](auto x, auto) { return std::log(x); },
                                                         kNoIntegers)(example, inputs);
                               // Near 1 the result is small and its error absolute.
                               for (long double value : result.reals) {
                                 result.scales.push_back(std::max(1.0L, std::fabs(value)));
                               }
                               return result;
                             },
                             kF32, kF64});
const SubjectOf kSqrt("sqrt",
                      unary([](auto x, auto) { return std::sqrt(x); }, kNoIntegers, kF32, kF64));
const SubjectOf kTanh("tanh",
                      unary([](auto x, auto) { return std::tanh(x); }, kNoIntegers, kF32, kF64));
const SubjectOf kSigmoid("sigmoid", unary([](auto x, auto) { return 1 / (1 + std::exp(-x)); },
                                          kNoIntegers, kF32, kF64));

// Kernels with parameters: the reference reads them from the case.
using WithParams = std::function<std::pair<RealFunction, IntegerFunction>(const Case&)>;

Subject with_params(const std::function<std::vector<Params>(DType)>& params,
                    const WithParams& functions) {
  return {[params](DType dtype) {
            std::vector<Case> cases;
            for (const Params& each : params(dtype)) {
              for (Case& example : unary_cases(dtype, each)) cases.push_back(std::move(example));
            }
            return cases;
          },
          [functions](const Case& example, const std::vector<Tensor>& inputs) {
            const auto [of_reals, of_integers] = functions(example);
            return pointwise(of_reals, of_integers)(example, inputs);
          }};
}

__int128 integer_param(const Case& example, const std::string& name, __int128 fallback) {
  const auto found = example.params.find(name);
  if (found == example.params.end()) return fallback;
  return std::get<int64_t>(found->second);
}

long double real_param(const Case& example, const std::string& name, long double fallback) {
  const auto found = example.params.find(name);
  if (found == example.params.end()) return fallback;
  if (const auto* integer = std::get_if<int64_t>(&found->second)) return *integer;
  return std::get<double>(found->second);
}

const SubjectOf kRelu(
    "relu", with_params(
                [](DType dtype) {
                  return std::vector<Params>{
                      {}, {{"slope", is_float(dtype) ? ParamValue(0.25) : ParamValue(int64_t{3})}}};
                },
                [](const Case& example) {
                  const auto slope = real_param(example, "slope", 0);
                  const auto factor =
                      integer_param(is_float(example.output.dtype) ? Case{} : example, "slope", 0);
                  return std::pair<RealFunction, IntegerFunction>(
                      [slope](auto x, auto) { return x > 0 ? x : slope * x + 0.0L; },
                      [factor](auto x, auto) { return x > 0 ? x : factor * x; });
                }));

const SubjectOf kScalarMul("scalar_mul",
                           with_params(
                               [](DType dtype) {
                                 if (is_float(dtype))
                                   return std::vector<Params>{{{"scalar", -1.5}}};
                                 return std::vector<Params>{{{"scalar", int64_t{113}}}};
                               },
                               [](const Case& example) {
                                 const auto real = real_param(example, "scalar", 0);
                                 return std::pair<RealFunction, IntegerFunction>(
                                     [real](auto x, auto) { return x * real; },
                                     [](auto x, auto) { return x * 113; });
                               }));

const SubjectOf kClamp(
    "clamp",
    with_params(
        [](DType dtype) {
          const int64_t low = is_signed(dtype) ? -2 : 2;
          return std::vector<Params>{
              {}, {{"min", low}}, {{"max", int64_t{100}}}, {{"min", low}, {"max", int64_t{3}}}};
        },
        [](const Case& example) {
          const auto low = real_param(example, "min", -kInf);
          const auto high = real_param(example, "max", kInf);
          const __int128 wide = __int128{1} << 100;
          const auto least = integer_param(example, "min", -wide);
          const auto most = integer_param(example, "max", wide);
          return std::pair<RealFunction, IntegerFunction>(
              [low, high](auto x, auto) { return std::clamp(x, low, high); },
              [least, most](auto x, auto) { return std::clamp(x, least, most); });
        }));

// fill has no input; its subject lists the element types of the output.
const SubjectOf kFill("fill", {[](DType dtype) {
                                 std::vector<Case> cases;
                                 for (const Shape& shape : shapes()) {
                                   cases.push_back({{}, {dtype, shape}, {{"value", int64_t{42}}}});
                                 }
                                 return cases;
                               },
                               [](const Case& example, const std::vector<Tensor>&) {
                                 Tensor result(example.output);
                                 for (auto& real : result.reals) real = 42;
                                 for (auto& integer : result.integers) {
                                   integer = element_of(example.output.dtype, 42);
                                 }
                                 return result;
                               }});

int64_t saturated(DType dtype, long double value) {
  if (std::isnan(value)) return 0;
  const bool negatives = is_signed(dtype);
  const int bits = static_cast<int>(8 * size_of(dtype)) - (negatives ? 1 : 0);
  const long double limit = std::ldexp(1.0L, bits);
  const __int128 highest = (__int128{1} << bits) - 1;
  const __int128 lowest = negatives ? -highest - 1 : 0;
  const long double whole = std::trunc(value);
  return wrap(dtype, whole >= limit                              ? highest
                     : whole <= static_cast<long double>(lowest) ? lowest
                                                                 : static_cast<__int128>(whole));
}

// A complex number gives its real part, and gets one.
void cast_complex(const Tensor& input, size_t from, Tensor& result, size_t to) {
  const DType dtype = result.type.dtype;
  long double real = 0;
  if (input.type.dtype == DType::c64) {
    if (dtype == DType::c64) {
      result.integers[to] = input.integers[from];
      return;
    }
    real = complex_of(input.integers[from]).real();
  } else {
    real = input.is_real()
               ? input.reals[from]
               : static_cast<long double>(number_of(input.type.dtype, input.integers[from]));
  }
  if (dtype == DType::c64) {
    result.integers[to] = complex_bits(static_cast<float>(real));
  } else if (result.is_real()) {
    result.reals[to] = real;
  } else {
    result.integers[to] = saturated(dtype, real);
  }
}

const SubjectOf kCast("cast",
                      {[](DType from) {
                         std::vector<Case> cases;
                         for (DType to : kAllDTypes) {
                           for (const Shape& shape : shapes()) {
                             cases.push_back({{{from, shape}}, {to, shape}});
                           }
                           cases.push_back({{{from, {4, 1}}}, {to, {3, 4, 5}}});
                         }
                         return cases;
                       },
                       [](const Case& example, const std::vector<Tensor>& inputs) {
                         const Tensor& input = inputs[0];
                         Tensor result(example.output);
                         for (size_t i = 0; i < result.size(); ++i) {
                           const size_t at =
                               broadcast_index(input.type.shape, example.output.shape, i);
                           const DType to = example.output.dtype;
                           if (input.type.dtype == DType::c64 || to == DType::c64) {
                             cast_complex(input, at, result, i);
                           } else if (result.is_real()) {
                             result.reals[i] = input.is_real()
                                                   ? input.reals[at]
                                                   : static_cast<long double>(number_of(
                                                         input.type.dtype, input.integers[at]));
                           } else {
                             result.integers[i] = input.is_real() ? saturated(to, input.reals[at])
                                                                  : wrap(to, input.integers[at]);
                           }
                         }
                         return result;
                       }});

}  // namespace
}  // namespace dala::test
