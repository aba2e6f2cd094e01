// Reference implementations of max_pool2d and avg_pool2d, and their errors for invalid parameters.
#include <doctest/doctest.h>

#include "kernels/nn/planes.hpp"

namespace dala::test {
namespace {

Case pooling(DType dtype, const Shape& x, const Params& params) {
  const auto size = widened(params, "size", 2, 1);
  const auto stride = params.count("stride") != 0 ? widened(params, "stride", 2, 1) : size;
  const auto pad = widened(params, "pad", 4, 0);
  return {{{dtype, x}},
          {dtype,
           {x[0], x[1], places(x[2] + pad[0] + pad[2], size[0], stride[0]),
            places(x[3] + pad[1] + pad[3], size[1], stride[1])}},
          params};
}

std::vector<Case> pool_cases(DType dtype) {
  const ParamValue two = int64_t{2};
  const ParamValue three = int64_t{3};
  std::vector<Case> cases = {
      pooling(dtype, {1, 1, 1, 1}, {{"size", int64_t{1}}}),
      pooling(dtype, {0, 2, 4, 4}, {{"size", two}}),
      pooling(dtype, {2, 3, 6, 7}, {{"size", two}}),
      pooling(dtype, {1, 2, 7, 9}, {{"size", three}, {"stride", two}, {"pad", int64_t{1}}}),
      pooling(dtype, {1, 2, 5, 5}, {{"size", three}, {"stride", int64_t{1}}, {"pad", two}}),
      pooling(dtype, {1, 1, 9, 11}, {{"size", two}, {"stride", std::vector<double>{4, 3}}}),
      pooling(dtype, {1, 2, 6, 6},
              {{"size", std::vector<double>{3, 2}}, {"pad", std::vector<double>{0, 1, 2, 0}}}),
      pooling(dtype, {2, 5, 7, 7}, {{"size", int64_t{7}}}),
      pooling(dtype, {1, 1, 1, 1}, {{"size", three}, {"pad", int64_t{1}}}),
      pooling(dtype, {2, 1, 4, 4}, {{"size", three}, {"stride", int64_t{1}}, {"pad", int64_t{1}}}),
  };
  const size_t small = cases.size();
  for (size_t i = 0; i < small; ++i) cases.push_back(with_channels_last(cases[i]));
  cases.push_back(with_channels_last(
      pooling(dtype, {1, 70, 5, 4}, {{"size", three}, {"stride", two}, {"pad", int64_t{1}}})));
  cases.push_back(with_channels_last(pooling(dtype, {2, 130, 3, 3}, {{"size", three}})));
  if (quick()) return cases;
  cases.push_back(
      pooling(dtype, {1, 8, 112, 150}, {{"size", three}, {"stride", two}, {"pad", int64_t{1}}}));
  cases.push_back(pooling(dtype, {1, 3, 40, 200},
                          {{"size", int64_t{5}}, {"stride", int64_t{1}}, {"pad", two}}));
  cases.push_back(pooling(dtype, {2, 40, 14, 14}, {{"size", int64_t{14}}}));
  return cases;
}

std::vector<Case> avg_cases(DType dtype) {
  std::vector<Case> cases = pool_cases(dtype);
  const size_t count = cases.size();
  for (size_t i = 0; i < count; ++i) {
    Case counted = cases[i];
    counted.params["count_include_pad"] = true;
    cases.push_back(counted);
  }
  return cases;
}

// Calls the visitor with each output and the elements of input 0 in its window.
template <typename Visit>
void visit_windows(const Case& example, Visit visit) {
  const bool last = channels_last(example.params);
  const Shape x = as_nchw(example.inputs[0].shape, last);
  const Shape o = as_nchw(example.output.shape, last);
  const auto size = widened(example.params, "size", 2, 1);
  const auto stride =
      example.params.count("stride") != 0 ? widened(example.params, "stride", 2, 1) : size;
  const auto pad = widened(example.params, "pad", 4, 0);
  for (int64_t index = 0; index < example.output.count(); ++index) {
    const int64_t plane = index / (o[3] * o[2]);
    std::vector<size_t> seen;
    for (int64_t ky = 0; ky < size[0]; ++ky) {
      for (int64_t kx = 0; kx < size[1]; ++kx) {
        const int64_t row = index / o[3] % o[2] * stride[0] + ky - pad[0];
        const int64_t column = index % o[3] * stride[1] + kx - pad[1];
        if (row < 0 || row >= x[2] || column < 0 || column >= x[3]) continue;
        seen.push_back(element_at(x, last, plane / o[1], plane % o[1], row, column));
      }
    }
    const size_t to =
        element_at(o, last, plane / o[1], plane % o[1], index / o[3] % o[2], index % o[3]);
    visit(to, seen, size[0] * size[1]);
  }
}

Tensor largest(const Case& example, const std::vector<Tensor>& inputs) {
  Tensor result(example.output);
  const std::vector<__int128> numbers = numbers_of(inputs[0]);
  std::vector<__int128> picked(result.is_real() ? 0 : result.size());
  visit_windows(example, [&](size_t index, const std::vector<size_t>& seen, int64_t) {
    const auto pick = [&](const auto& from, auto& to) {
      to[index] = from[seen.at(0)];
      for (size_t place : seen) to[index] = std::max(to[index], from[place]);
    };
    if (result.is_real()) {
      pick(inputs[0].reals, result.reals);
    } else {
      pick(numbers, picked);
    }
  });
  set_numbers(result, picked);
  return result;
}

Tensor averaged(const Case& example, const std::vector<Tensor>& inputs) {
  const bool with_padding = example.params.count("count_include_pad") != 0;
  Tensor result(example.output);
  result.scales.resize(result.size());
  visit_windows(example, [&](size_t index, const std::vector<size_t>& seen, int64_t area) {
    long double sum = 0;
    for (size_t place : seen) sum += inputs[0].reals[place];
    result.reals[index] =
        sum / static_cast<long double>(with_padding ? area : static_cast<int64_t>(seen.size()));
    result.scales[index] = 4;  // the largest value of an element
  });
  return result;
}

const SubjectOf kMaxPool("max_pool2d", {pool_cases, largest});
const SubjectOf kAvgPool("avg_pool2d", {avg_cases, averaged, 1e-6L, 1e-15L});

}  // namespace

TEST_CASE("pooling reports mismatches of shape and parameters") {
  const BufferPtr x = zeros(DType::f32, {1, 2, 8, 8});
  const BufferPtr out = zeros(DType::f32, {1, 2, 4, 4});
  CHECK(failure([&] { run("max_pool2d", {x}, out); }) ==
        "invalid_param: max_pool2d needs the parameter size");
  CHECK(failure([&] {
          run("max_pool2d", {x}, out, {{"size", int64_t{3}}});
        }) ==
        "shape_mismatch: the output of max_pool2d has shape {1, 2, 4, 4}, expected {1, 2, 2, 2}");
  CHECK(failure([&] {
          run("avg_pool2d", {x}, out, {{"size", int64_t{2}}, {"pad", std::vector<double>{0, 2}}});
        }) == "invalid_param: pad of avg_pool2d must be smaller than size {2, 2}, got {0, 2}");
  CHECK(failure([&] {
          run("avg_pool2d", {x}, out, {{"size", std::vector<double>{9, 1}}});
        }) ==
        "shape_mismatch: a window of avg_pool2d spans 9 by 1 elements, more than the padded "
        "input's 8 by 8");
  CHECK(failure([&] {
          run("avg_pool2d", {zeros(DType::u8, {1, 2, 8, 8})}, out, {{"size", int64_t{2}}});
        }) == "dtype_mismatch: input 0 of avg_pool2d is u8, expected f32, f64, f16 or bf16");
  CHECK(failure([&] {
          run("max_pool2d", {zeros(DType::f32, {8, 8})}, out, {{"size", int64_t{2}}});
        }) == "shape_mismatch: input 0 of max_pool2d has shape {8, 8}, expected {n, c, h, w}");
  CHECK(failure([&] {
          run("max_pool2d", {x}, out, {{"size", int64_t{2}}, {"layout", std::string("nhwc")}});
        }) ==
        "shape_mismatch: the output of max_pool2d has shape {1, 2, 4, 4}, expected {1, 1, 4, 8}");
}

TEST_CASE("NaN is the largest element of a window") {
  const float nan = std::nanf("");
  const BufferPtr out = zeros(DType::f32, {1, 1, 1, 2});
  run("max_pool2d", {buffer<float>({nan, 1, 2, 3}, {1, 1, 1, 4})}, out,
      {{"size", std::vector<double>{1, 2}}});
  CHECK(std::isnan(read<float>(out)[0]));
  CHECK(read<float>(out)[1] == 3);
}

}  // namespace dala::test
