// The reference implementation of conv_transpose2d, and its errors for operands that do not match.
#include <doctest/doctest.h>

#include "kernels/nn/planes.hpp"

namespace dala::test {
namespace {

Case transposing(const Shape& x, const Shape& weights, bool bias, const Params& params) {
  const auto stride = widened(params, "stride", 2, 1);
  const auto dilation = widened(params, "dilation", 2, 1);
  const auto pad = widened(params, "pad", 4, 0);
  const auto extra = widened(params, "output_padding", 2, 0);
  const int64_t channels = weights[1] * widened(params, "groups", 1, 1)[0];
  Case example{{{DType::f32, x}, {DType::f32, weights}}, {DType::f32, {}}, params};
  if (bias) example.inputs.push_back({DType::f32, {channels}});
  // Up to the last position that the last element contributes to.
  example.output.shape = {
      x[0], channels,
      (x[2] - 1) * stride[0] + (weights[2] - 1) * dilation[0] + 1 + extra[0] - pad[0] - pad[2],
      (x[3] - 1) * stride[1] + (weights[3] - 1) * dilation[1] + 1 + extra[1] - pad[1] - pad[3]};
  return example;
}

std::vector<Case> transposed_cases(DType dtype) {
  const ParamValue one = int64_t{1};
  const ParamValue two = int64_t{2};
  std::vector<Case> cases = {
      transposing({1, 1, 1, 1}, {1, 1, 1, 1}, false, {}),
      transposing({2, 3, 4, 5}, {3, 4, 3, 3}, true, {}),
      transposing({1, 3, 4, 3}, {3, 2, 2, 2}, true, {{"stride", two}}),
      transposing({1, 2, 5, 4}, {2, 3, 3, 3}, true,
                  {{"stride", two}, {"pad", one}, {"output_padding", one}}),
      transposing({1, 2, 3, 3}, {2, 3, 3, 2}, false,
                  {{"stride", std::vector<double>{1, 3}},
                   {"dilation", std::vector<double>{2, 1}},
                   {"pad", std::vector<double>{0, 1, 2, 0}},
                   {"output_padding", std::vector<double>{1, 2}}}),
      transposing({1, 6, 4, 4}, {6, 2, 3, 3}, true,
                  {{"groups", int64_t{3}}, {"activation", std::string("relu6")}}),
      transposing({1, 4, 3, 5}, {4, 1, 4, 4}, true,
                  {{"groups", int64_t{4}}, {"stride", two}, {"activation", std::string("silu")}}),
      transposing({0, 2, 3, 3}, {2, 2, 3, 3}, true, {}),
      transposing({1, 3, 4, 4}, {3, 3, 3, 3}, true, {{"pad", one}}),
  };
  if (!quick())
    cases.push_back(
        transposing({1, 33, 14, 15}, {33, 20, 4, 4}, true, {{"stride", two}, {"pad", one}}));
  const size_t count = cases.size();
  for (size_t i = 0; i < count; ++i) cases.push_back(with_channels_last(cases[i]));
  for (Case& example : cases) {
    for (TensorType& type : example.inputs) type.dtype = dtype;
    example.output.dtype = dtype;
  }
  return cases;
}

// Visits input and weights, and adds each product to the output that it contributes to.
Tensor transposed(const Case& example, const std::vector<Tensor>& inputs) {
  const bool last = channels_last(example.params);
  const Shape x = as_nchw(example.inputs[0].shape, last);
  const Shape& w = example.inputs[1].shape;
  const Shape o = as_nchw(example.output.shape, last);
  const auto stride = widened(example.params, "stride", 2, 1);
  const auto dilation = widened(example.params, "dilation", 2, 1);
  const auto pad = widened(example.params, "pad", 4, 0);
  const int64_t groups = widened(example.params, "groups", 1, 1)[0];
  Tensor result(example.output);
  result.scales.assign(result.size(), 0);
  const auto add = [&](size_t place, long double term) {
    result.reals[place] += term;
    result.scales[place] += std::fabs(term);
  };
  if (inputs.size() > 2) {
    for (int64_t i = 0; i < example.output.count(); ++i) {
      const auto channel = static_cast<size_t>(i / (o[2] * o[3]) % o[1]);
      add(element_at(o, last, i / (o[1] * o[2] * o[3]), static_cast<int64_t>(channel),
                     i / o[3] % o[2], i % o[3]),
          inputs[2].reals[channel]);
    }
  }
  for (int64_t i = 0; i < example.inputs[0].count(); ++i) {
    const int64_t n = i / (x[1] * x[2] * x[3]);
    const int64_t ci = i / (x[2] * x[3]) % x[1];
    for (int64_t j = 0; j < w[1] * w[2] * w[3]; ++j) {
      const int64_t co = ci / (x[1] / groups) * w[1] + j / (w[2] * w[3]);
      const int64_t y = i / x[3] % x[2] * stride[0] + j / w[3] % w[2] * dilation[0] - pad[0];
      const int64_t column = i % x[3] * stride[1] + j % w[3] * dilation[1] - pad[1];
      if (y < 0 || y >= o[2] || column < 0 || column >= o[3]) continue;
      const size_t from = element_at(x, last, n, ci, i / x[3] % x[2], i % x[3]);
      add(element_at(o, last, n, co, y, column),
          inputs[0].reals[from] *
              inputs[1].reals[static_cast<size_t>(ci * w[1] * w[2] * w[3] + j)]);
    }
  }
  for (long double& real : result.reals) real = activated(example.params, real);
  return result;
}

const SubjectOf kTransposed("conv_transpose2d", {transposed_cases, transposed, 5e-6L, 1e-14L});

}  // namespace

TEST_CASE("conv_transpose2d reports mismatches of shape and parameters") {
  const auto floats = [](const Shape& shape) { return zeros(DType::f32, shape); };
  const BufferPtr x = floats({1, 4, 5, 5});
  const BufferPtr weights = floats({4, 3, 3, 3});
  const BufferPtr out = floats({1, 3, 7, 7});
  const auto refusal = [&](const std::vector<BufferPtr>& inputs, const Params& params) {
    return failure([&] { run("conv_transpose2d", inputs, out, params); });
  };
  CHECK(refusal({x, weights}, {}) == "no error");
  CHECK(refusal({floats({4, 5, 5}), weights}, {}) ==
        "shape_mismatch: input 0 of conv_transpose2d has shape {4, 5, 5}, expected {n, c, h, w}");
  CHECK(refusal({x, floats({3, 4, 3, 3})}, {}) ==
        "shape_mismatch: input 1 of conv_transpose2d has shape {3, 4, 3, 3}, expected {4, co / "
        "groups, kh, kw}");
  CHECK(refusal({x, weights, floats({4})}, {}) ==
        "shape_mismatch: input 2 of conv_transpose2d has shape {4}, expected {3}");
  CHECK(refusal({x, weights}, {{"groups", int64_t{3}}}) ==
        "invalid_param: groups of conv_transpose2d must divide the 4 channels of input 0, got 3");
  CHECK(refusal({x, weights}, {{"stride", int64_t{2}}, {"output_padding", int64_t{2}}}) ==
        "invalid_param: output_padding of conv_transpose2d must be smaller than stride or "
        "dilation, got 2");
  CHECK(refusal({x, weights}, {{"pad", int64_t{4}}}) ==
        "shape_mismatch: the padding of conv_transpose2d leaves an output of -1 by -1 elements");
  CHECK(refusal({x, weights}, {{"pad", int64_t{1}}}) ==
        "shape_mismatch: the output of conv_transpose2d has shape {1, 3, 7, 7}, expected {1, 3, 5, "
        "5}");
}

}  // namespace dala::test
