// Edge cases of the kernels along an axis: accuracy, special values, errors.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "support/engine_fixture.hpp"

namespace dala::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

template <typename Out, typename In>
std::vector<Out> reduced(const std::string& kernel, const std::vector<In>& input) {
  const BufferPtr output = zeros(dtype_of<Out>(), {});
  run(kernel, {buffer(input)}, output);
  return read<Out>(output);
}

}  // namespace

TEST_CASE("the sum of 16 million floats is accurate") {
  const size_t count = quick() ? 10000 : 16U << 20U;
  std::vector<float> values(count);
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(0.0F, 1.0F);
  double sum = 0;
  for (float& value : values) {
    value = uniform(random);
    sum += value;
  }
  const float got = reduced<float>("reduce_sum", values)[0];
  CHECK(std::fabs(got - sum) <= 1e-5 * sum);
}

TEST_CASE("NaN wins over every number at every position") {
  for (size_t length : {size_t{1}, size_t{5}, size_t{300}, quick() ? size_t{500} : size_t{50000}}) {
    for (size_t at : {size_t{0}, length / 2, length - 1}) {
      std::vector<float> values(length, 1.0F);
      values[length - 1] = kInf;
      values[at] = kNan;
      CHECK(std::isnan(reduced<float>("reduce_max", values)[0]));
      CHECK(std::isnan(reduced<float>("reduce_min", values)[0]));
      CHECK(std::isnan(reduced<float>("reduce_sum", values)[0]));
      CHECK(reduced<int32_t>("argmax", values)[0] == static_cast<int32_t>(at));
    }
  }
}

TEST_CASE("argmax returns the first of equal elements") {
  for (size_t length :
       {size_t{2}, size_t{70}, size_t{1000}, quick() ? size_t{500} : size_t{70000}}) {
    CHECK(reduced<int32_t>("argmax", std::vector<float>(length, -kInf))[0] == 0);
    std::vector<uint8_t> values(length, 3);
    values[length - 1] = values[length / 3] = 9;
    CHECK(reduced<int64_t>("argmax", values)[0] == static_cast<int64_t>(length / 3));
  }
}

TEST_CASE("sums of integers wrap, wider outputs hold them, means truncate toward zero") {
  CHECK(reduced<uint8_t, uint8_t>("reduce_sum", {200, 100}) == std::vector<uint8_t>{44});
  CHECK(reduced<int64_t, uint8_t>("reduce_sum", {200, 100}) == std::vector<int64_t>{300});
  CHECK(reduced<float, uint8_t>("reduce_mean", {200, 101}) == std::vector<float>{150.5F});
  CHECK(reduced<int32_t, int32_t>("reduce_mean", {-3, -4}) == std::vector<int32_t>{-3});
}

TEST_CASE("softmax does not overflow") {
  const BufferPtr output = zeros(DType::f32, {2});
  run("softmax", {buffer<float>({1000, 1000})}, output);
  CHECK(read<float>(output) == std::vector<float>{0.5F, 0.5F});
}

TEST_CASE("softmax of infinite elements") {
  // Lines along the innermost axis, and across it; longer than the items that share one.
  for (const int64_t axis : {1, 0}) {
    CAPTURE(axis);
    const Shape shape = axis == 1 ? Shape{3, 600} : Shape{600, 3};
    const auto at = [axis](size_t line, size_t k) {
      return axis == 1 ? line * 600 + k : k * 3 + line;
    };
    std::vector<float> elements(1800, -kInf);
    elements[at(0, 1)] = elements[at(0, 599)] = 7;  // line 1 has nothing but -infinity
    for (size_t k = 0; k < 600; ++k) elements[at(2, k)] = k == 300 ? kInf : 1.0F;
    const BufferPtr output = zeros(DType::f32, shape);
    run("softmax", {buffer(elements, shape)}, output, {{"axis", axis}});
    const std::vector<float> result = read<float>(output);
    for (size_t k = 0; k < 600; ++k) {
      CHECK(result[at(0, k)] == (k == 1 || k == 599 ? 0.5F : 0.0F));
      CHECK(std::isnan(result[at(1, k)]));
      CHECK(std::isnan(result[at(2, k)]));
    }
  }
}

TEST_CASE("reductions report mismatches of shape, element type and axis") {
  const BufferPtr input = zeros(DType::f32, {2, 3});
  const Params axis{{"axis", int64_t{0}}};
  CHECK(failure([&] { run("reduce_sum", {input}, zeros(DType::f32, {2}), axis); }) ==
        "shape_mismatch: the output of reduce_sum has shape {2}, expected {3} or {1, 3}");
  CHECK(failure([&] { run("reduce_sum", {input}, zeros(DType::f32, {2})); }) ==
        "shape_mismatch: the output of reduce_sum has shape {2}, expected {} or {1}");
  CHECK(failure([&] { run("reduce_sum", {input}, zeros(DType::s64, {3}), axis); }) ==
        "dtype_mismatch: the output of reduce_sum is s64, expected f32");
  CHECK(failure([&] { run("reduce_max", {zeros(DType::s32, {3})}, zeros(DType::s64, {})); }) ==
        "dtype_mismatch: the output of reduce_max is s64, expected s32");
  CHECK(failure([&] {
          run("reduce_sum", {input}, zeros(DType::f32, {}), {{"axis", int64_t{2}}});
        }) ==
        "invalid_param: axis of reduce_sum must be an integer between -2 and 1 for an input of "
        "shape {2, 3}, got 2");
  CHECK(failure([&] { run("reduce_sum", {zeros(DType::f32, {})}, zeros(DType::f32, {}), axis); }) ==
        "invalid_param: axis of reduce_sum must be absent for a scalar, got 0");
  for (const char* kernel : {"reduce_max", "reduce_min", "reduce_mean"}) {
    CHECK(failure([&] {
            run(kernel, {zeros(DType::f32, {0, 3})}, zeros(DType::f32, {3}), axis);
          }) == text("shape_mismatch: input 0 of ", kernel,
                     " has shape {0, 3}, which is empty along axis 0"));
  }
  CHECK(failure([&] { run("argmax", {zeros(DType::f32, {0})}, zeros(DType::s32, {})); }) ==
        "shape_mismatch: input 0 of argmax has shape {0}, which is empty");
  CHECK(failure([&] { run("argmax", {input}, zeros(DType::f32, {})); }) ==
        "dtype_mismatch: the output of argmax is f32, expected s32, s64 or u32");
  CHECK(failure([&] {
          run("softmax", {input}, zeros(DType::f32, {3, 2}));
        }) == "shape_mismatch: the output of softmax has shape {3, 2}, expected {2, 3}");
  CHECK(failure([&] {
          run("layer_norm", {input, zeros(DType::f32, {2})}, input);
        }) ==
        "shape_mismatch: input 1 of layer_norm has shape {2}, expected {3} like the last axis of "
        "input 0");
  CHECK(failure([&] { run("layer_norm", {zeros(DType::f32, {})}, zeros(DType::f32, {})); }) ==
        "shape_mismatch: input 0 of layer_norm is a scalar, expected a last axis");
  CHECK(failure([&] {
          run("layer_norm", {input}, input, {{"epsilon", -1.0}});
        }) == "invalid_param: epsilon of layer_norm must be a number of at least 0, got -1");
  CHECK(failure([&] {
          run("layer_norm", {input, input, input, input}, input);
        }) == "arity_mismatch: layer_norm takes 1 to 3 inputs, got 4");
}

}  // namespace dala::test
