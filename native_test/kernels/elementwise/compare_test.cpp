// References of comparison and logic.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "kernels/elementwise/pointwise_cases.hpp"

namespace dala::test {
namespace {

// A generic function of two numbers, of whatever type they are.
template <typename Function>
Subject comparison(Function function, bool two = true) {
  return {[two](DType dtype) {
            std::vector<Case> cases = two ? binary_cases(dtype) : unary_cases(dtype);
            for (Case& example : cases) example.output.dtype = DType::u8;
            return cases;
          },
          [function](const Case& example, const std::vector<Tensor>& inputs) {
            Tensor result(example.output);
            for (size_t i = 0; i < result.size(); ++i) {
              const auto at = [&](size_t n) {
                return broadcast_index(inputs[n].type.shape, example.output.shape, i);
              };
              const size_t last = inputs.size() - 1;
              const auto integer = [&](size_t n) {
                return number_of(inputs[n].type.dtype, inputs[n].integers[at(n)]);
              };
              result.integers[i] = inputs[0].is_real() ? function(inputs[0].reals[at(0)],
                                                                  inputs[last].reals[at(last)])
                                                       : function(integer(0), integer(last));
            }
            return result;
          },
          0, 0, 0,
          // Equal elements, zeros, and what only floats have.
          [](const Case&, std::vector<Tensor>& inputs) {
            const long double nan = std::numeric_limits<long double>::quiet_NaN();
            const long double inf = std::numeric_limits<long double>::infinity();
            const long double special[] = {0, -0.0L, nan, inf, -inf, 1};
            for (size_t n = 0; n < inputs.size(); ++n) {
              for (size_t i = 0; i < inputs[n].size(); i += 2) {
                const size_t which = (i / 2 * (n + 1)) % 6;
                if (inputs[n].is_real()) {
                  inputs[n].reals[i] = special[which];
                } else {
                  inputs[n].integers[i] = static_cast<int64_t>(which % 3);
                }
              }
            }
          }};
}

const SubjectOf kEqual("equal", comparison([](auto a, auto b) { return a == b; }));
const SubjectOf kNotEqual("not_equal", comparison([](auto a, auto b) { return a != b; }));
const SubjectOf kLess("less", comparison([](auto a, auto b) { return a < b; }));
const SubjectOf kLessEqual("less_equal", comparison([](auto a, auto b) { return a <= b; }));
const SubjectOf kGreater("greater", comparison([](auto a, auto b) { return a > b; }));
const SubjectOf kGreaterEqual("greater_equal", comparison([](auto a, auto b) { return a >= b; }));
const SubjectOf kAnd("logical_and", comparison([](auto a, auto b) { return a != 0 && b != 0; }));
const SubjectOf kOr("logical_or", comparison([](auto a, auto b) { return a != 0 || b != 0; }));
const SubjectOf kXor("logical_xor",
                     comparison([](auto a, auto b) { return (a != 0) != (b != 0); }));
const SubjectOf kNot("logical_not", comparison([](auto a, auto) { return a == 0; }, false));
const SubjectOf kIsNan("is_nan", comparison([](auto a, auto) { return a != a; }, false));
const SubjectOf kIsInfinity(
    "is_infinity",
    comparison([](auto a, auto) { return std::isinf(static_cast<long double>(a)); }, false));

}  // namespace

TEST_CASE("comparisons give u8") {
  const BufferPtr floats = zeros(DType::f32, {2});
  CHECK(failure([&] {
          run("less", {floats, floats}, floats);
        }) == "dtype_mismatch: the output of less is f32, expected u8");
  CHECK(failure([&] {
          run("less", {floats, zeros(DType::s32, {2})}, zeros(DType::u8, {2}));
        }) == "dtype_mismatch: input 1 of less is s32, expected f32 like input 0");
}

}  // namespace dala::test
