// The reference implementation of conv2d, and its errors for operands that do not match.
#include <doctest/doctest.h>

#include "kernels/nn/conv/convolution.hpp"
#include "kernels/nn/planes.hpp"

namespace dala::test {
namespace {

const std::vector<double> kAsymmetric{0, 2, 1, 0};

// x and weights; `bias` adds a third input. The output's shape follows.
Case convolution(const Shape& x, const Shape& weights, bool bias, const Params& params) {
  const auto stride = widened(params, "stride", 2, 1);
  const auto dilation = widened(params, "dilation", 2, 1);
  const auto pad = widened(params, "pad", 4, 0);
  Case example{{{DType::f32, x}, {DType::f32, weights}}, {DType::f32, {}}, params};
  if (bias) example.inputs.push_back({DType::f32, {weights[0]}});
  example.output.shape = {
      x[0], weights[0],
      places(x[2] + pad[0] + pad[2], (weights[2] - 1) * dilation[0] + 1, stride[0]),
      places(x[3] + pad[1] + pad[3], (weights[3] - 1) * dilation[1] + 1, stride[1])};
  return example;
}

Params with(std::initializer_list<Params::value_type> params) { return Params(params); }

std::vector<Case> small_convolutions() {
  const std::string relu = "relu";
  const std::string relu6 = "relu6";
  const auto integer = [](int64_t number) { return ParamValue(number); };
  return {
      // 1 x 1: single pixels, odd channel counts, pixels around the edges of a tile.
      convolution({1, 1, 1, 1}, {1, 1, 1, 1}, false, {}),
      convolution({1, 3, 1, 1}, {5, 3, 1, 1}, true, {}),
      convolution({2, 5, 3, 5}, {7, 5, 1, 1}, true, with({{"activation", relu}})),
      convolution({1, 9, 7, 7}, {13, 9, 1, 1}, true, with({{"activation", relu6}})),
      convolution({1, 17, 5, 10}, {18, 17, 1, 1}, false, {}),
      convolution({1, 33, 4, 13}, {25, 33, 1, 1}, true, {}),
      convolution({1, 6, 9, 11}, {19, 6, 1, 1}, true, with({{"activation", relu}})),
      // 1 x 1 that is not pointwise.
      convolution({1, 4, 5, 6}, {3, 4, 1, 1}, true, with({{"stride", integer(2)}})),
      convolution({1, 4, 3, 4}, {3, 4, 1, 1}, true, with({{"pad", integer(1)}})),
      // Windows: padding beyond half their size, strides beyond their size, dilation, uneven
      // padding.
      convolution({1, 3, 8, 9}, {4, 3, 3, 3}, true, with({{"pad", integer(1)}})),
      convolution({2, 3, 7, 6}, {5, 3, 3, 3}, true,
                  with({{"pad", integer(4)}, {"activation", relu6}})),
      convolution({1, 2, 9, 13}, {3, 2, 2, 3}, false,
                  with({{"stride", std::vector<double>{3, 4}}})),
      convolution({1, 2, 9, 10}, {3, 2, 3, 2}, true,
                  with({{"dilation", std::vector<double>{2, 3}}, {"pad", integer(2)}})),
      convolution({1, 3, 6, 7}, {9, 3, 3, 3}, true, with({{"pad", kAsymmetric}})),
      convolution({1, 3, 11, 12}, {4, 3, 5, 3}, true,
                  with({{"stride", integer(2)}, {"pad", std::vector<double>{2, 1}}})),
      convolution({1, 3, 1, 1}, {2, 3, 3, 3}, true, with({{"pad", integer(1)}})),
      // Groups.
      convolution({2, 6, 5, 5}, {4, 3, 3, 3}, true,
                  with({{"groups", integer(2)}, {"pad", integer(1)}})),
      convolution({1, 6, 4, 4}, {9, 2, 1, 1}, true, with({{"groups", integer(3)}})),
      // Depthwise: narrow and wide, both strides, dilation, several outputs per channel.
      convolution({1, 1, 1, 1}, {1, 1, 3, 3}, true, with({{"pad", integer(1)}})),
      convolution({1, 5, 7, 7}, {5, 1, 3, 3}, true,
                  with({{"groups", integer(5)}, {"pad", integer(1)}, {"activation", relu6}})),
      convolution({2, 3, 6, 19}, {3, 1, 3, 3}, true,
                  with({{"groups", integer(3)}, {"pad", integer(1)}})),
      convolution({1, 3, 9, 35}, {3, 1, 3, 3}, false,
                  with({{"groups", integer(3)}, {"pad", integer(1)}, {"stride", integer(2)}})),
      convolution({1, 3, 14, 14}, {3, 1, 3, 3}, true,
                  with({{"groups", integer(3)}, {"pad", kAsymmetric}, {"stride", integer(2)}})),
      convolution({1, 4, 8, 9}, {8, 1, 3, 3}, true,
                  with({{"groups", integer(4)}, {"pad", integer(2)}, {"dilation", integer(2)}})),
      convolution({1, 2, 10, 21}, {2, 1, 3, 3}, true,
                  with({{"groups", integer(2)},
                        {"stride", std::vector<double>{1, 3}},
                        {"dilation", std::vector<double>{1, 2}},
                        {"pad", integer(3)}})),
      convolution({1, 2, 9, 8}, {2, 1, 5, 5}, true,
                  with({{"groups", integer(2)}, {"pad", integer(2)}})),
      convolution({1, 2, 9, 23}, {6, 1, 4, 5}, false,
                  with({{"groups", integer(2)}, {"stride", integer(2)}, {"pad", kAsymmetric}})),
      convolution({1, 2, 4, 5}, {2, 1, 1, 1}, true, with({{"groups", integer(2)}})),
      convolution({3, 2, 6, 6}, {2, 1, 3, 3}, true, with({{"groups", integer(2)}})),
      // An empty batch; outputs that have an input's type.
      convolution({0, 3, 4, 4}, {2, 3, 3, 3}, true, {}),
      convolution({1, 4, 6, 6}, {4, 4, 3, 3}, true, with({{"pad", integer(1)}})),
      convolution({4, 4, 1, 1}, {4, 4, 1, 1}, true, {}),
  };
}

// Shapes of networks, and sizes past a strip and a block.
std::vector<Case> large_convolutions() {
  const std::string relu6 = "relu6";
  const auto depthwise = [&](int64_t channels, int64_t size, int64_t stride) {
    return convolution(
        {1, channels, size, size}, {channels, 1, 3, 3}, true,
        {{"groups", channels}, {"pad", int64_t{1}}, {"stride", stride}, {"activation", relu6}});
  };
  return {
      convolution({1, 96, 28, 28}, {24, 96, 1, 1}, true, {}),
      convolution({1, 32, 56, 56}, {16, 32, 1, 1}, true, {}),
      convolution({1, 160, 7, 7}, {330, 160, 1, 1}, true, {{"activation", relu6}}),
      convolution({1, 1100, 7, 7}, {20, 1100, 1, 1}, true, {{"activation", relu6}}),
      convolution({1, 600, 20, 20}, {40, 600, 1, 1}, true, {{"activation", relu6}}),
      convolution({1, 64, 14, 14}, {100, 64, 1, 1}, true, {}),
      convolution({1, 3, 64, 96}, {32, 3, 3, 3}, true,
                  {{"stride", int64_t{2}}, {"pad", std::vector<double>{0, 0, 1, 1}}}),
      convolution({1, 70, 15, 17}, {66, 70, 3, 3}, true, {{"pad", int64_t{1}}}),
      convolution({2, 16, 30, 31}, {32, 4, 3, 3}, true,
                  {{"pad", int64_t{1}}, {"groups", int64_t{4}}}),
      depthwise(48, 56, 1),
      depthwise(33, 112, 2),
      depthwise(96, 14, 1),
      depthwise(96, 14, 2),
      depthwise(200, 7, 1),
      convolution({1, 24, 14, 14}, {24, 1, 5, 5}, true,
                  {{"groups", int64_t{24}}, {"pad", int64_t{2}}}),
      // Windows whose rows do not fit into the local memory of a work-group.
      convolution({1, 2, 40, 4000}, {2, 1, 9, 9}, false,
                  {{"groups", int64_t{2}}, {"dilation", std::vector<double>{4, 1}}}),
  };
}

// With a residual before the activation, and activations that are not bounds.
std::vector<Case> finished_convolutions() {
  std::vector<Case> cases;
  for (const std::string activation :
       {"none", "relu6", "clamp", "leaky_relu", "sigmoid", "silu", "hardswish"}) {
    const Params params{
        {"activation", activation}, {"pad", int64_t{1}}, {"low", -0.75}, {"high", 1.5}};
    Params depthwise = params;
    depthwise["groups"] = int64_t{18};
    cases.push_back(convolution({2, 5, 4, 3}, {19, 5, 3, 3}, true, params));
    cases.push_back(convolution({1, 18, 5, 8}, {18, 1, 3, 3}, true, depthwise));
  }
  cases.push_back(convolution({1, 24, 3, 8}, {24, 4, 3, 3}, true,
                              {{"groups", int64_t{6}}, {"activation", std::string("sigmoid")}}));
  cases.push_back(
      convolution({1, 3, 2, 3}, {4, 3, 1, 1}, true, {{"activation", std::string("silu")}}));
  cases.push_back(convolution({1, 3, 5, 5}, {3, 1, 3, 3}, true, {{"groups", int64_t{3}}}));
  cases.push_back(convolution({2, 19, 3, 4}, {19, 1, 1, 1}, true, {{"groups", int64_t{19}}}));
  for (Case& example : cases) example.inputs.push_back(example.output);
  cases.push_back(convolution({1, 4, 3, 3}, {5, 4, 1, 1}, false,
                              {{"activation", std::string("leaky_relu")}, {"slope", 0.25}}));
  return cases;
}

// Shapes that matter in the NHWC layout: channels that fill vectors, and a few more; panels of all
// widths; sums in several parts.
std::vector<Case> pixel_convolutions() {
  const auto depthwise = [&](int64_t channels, const Shape& plane, const Shape& size,
                             Params params) {
    params["groups"] = channels;
    return with_channels_last(convolution({1, channels, plane[0], plane[1]},
                                          {channels, 1, size[0], size[1]}, true, params));
  };
  const auto dense = [&](const Shape& x, const Shape& weights, const Params& params) {
    return with_channels_last(convolution(x, weights, true, params));
  };
  const ParamValue one = int64_t{1};
  const ParamValue two = int64_t{2};
  std::vector<Case> cases = {
      depthwise(16, {7, 7}, {3, 3}, {{"pad", one}}),
      depthwise(37, {9, 7}, {1, 1}, {{"activation", std::string("hardswish")}}),
      depthwise(5, {3, 1}, {1, 1}, {}),
      depthwise(21, {8, 16}, {3, 3}, {{"pad", one}, {"activation", std::string("relu6")}}),
      depthwise(33, {9, 9}, {3, 3}, {{"stride", two}, {"pad", kAsymmetric}}),
      depthwise(16, {15, 15}, {3, 3}, {{"stride", two}, {"pad", one}}),
      depthwise(17, {9, 10}, {3, 3}, {{"pad", std::vector<double>{3, 1}}}),
      depthwise(18, {7, 9}, {3, 3}, {{"dilation", std::vector<double>{2, 1}}, {"pad", one}}),
      depthwise(19, {6, 12}, {5, 5}, {{"pad", two}}),
      depthwise(16, {5, 7}, {5, 5}, {{"pad", two}, {"activation", std::string("hardswish")}}),
      depthwise(17, {9, 15}, {5, 5}, {{"pad", two}, {"stride", two}}),
      depthwise(16, {7, 16}, {5, 5}, {{"pad", std::vector<double>{2, 1, 2, 2}}, {"stride", two}}),
      depthwise(18, {7, 13}, {3, 5}, {{"pad", one}}),
      depthwise(16, {7, 12}, {5, 3}, {{"pad", two}}),
      depthwise(16, {6, 11}, {5, 5}, {}),
      depthwise(16, {6, 11}, {2, 3}, {{"pad", two}, {"dilation", two}}),
      dense({1, 7, 5, 5}, {70, 7, 1, 1}, {}),
      dense({2, 4, 3, 5}, {49, 4, 1, 1}, {{"activation", std::string("relu")}}),
      dense({1, 5, 4, 4}, {66, 5, 3, 3}, {{"pad", one}}),
      dense({1, 6, 5, 4}, {38, 3, 3, 3}, {{"groups", two}, {"pad", one}, {"stride", two}}),
      dense({1, 20, 4, 3}, {17, 20, 1, 1}, {{"stride", two}}),
      // Several panels per group, and groups per strip.
      dense({1, 8, 5, 5}, {140, 4, 3, 3}, {{"groups", two}, {"pad", one}}),
      dense({1, 48, 4, 5}, {48, 16, 3, 3}, {{"groups", int64_t{3}}, {"pad", one}}),
      // Several groups per vector.
      dense({1, 32, 5, 9}, {32, 4, 3, 3}, {{"groups", int64_t{8}}, {"pad", one}}),
      dense({2, 24, 6, 4}, {24, 8, 3, 3},
            {{"groups", int64_t{3}},
             {"pad", one},
             {"stride", two},
             {"activation", std::string("silu")}}),
      dense({1, 18, 9, 15}, {18, 2, 3, 2},
            {{"groups", int64_t{9}}, {"pad", kAsymmetric}, {"dilation", two}}),
  };
  if (quick()) return cases;
  const auto mobile = [&](int64_t channels, int64_t size, int64_t stride) {
    return depthwise(channels, {size, size}, {3, 3}, {{"stride", stride}, {"pad", one}});
  };
  for (const Case& large :
       {mobile(32, 56, 1), mobile(96, 28, 2), mobile(144, 14, 1), mobile(200, 7, 1),
        dense({1, 96, 28, 28}, {24, 96, 1, 1}, {}), dense({1, 600, 7, 7}, {330, 600, 1, 1}, {}),
        dense({1, 3, 64, 96}, {32, 3, 3, 3},
              {{"stride", two}, {"pad", std::vector<double>{0, 0, 1, 1}}}),
        dense({1, 70, 15, 17}, {66, 70, 3, 3}, {{"pad", one}}),
        dense({1, 130, 9, 9}, {40, 130, 5, 3}, {{"pad", two}, {"activation", std::string("silu")}}),
        // Elements of windows that are padding for some pixels, or for all.
        dense({1, 64, 9, 11}, {20, 64, 3, 3},
              {{"pad", std::vector<double>{6, 5}}, {"dilation", std::vector<double>{6, 5}}}),
        dense({2, 70, 5, 7}, {33, 70, 3, 3},
              {{"pad", int64_t{9}}, {"dilation", int64_t{9}}, {"activation", std::string("silu")}}),
        dense({1, 1200, 4, 5}, {18, 1200, 3, 3}, {{"pad", int64_t{3}}, {"dilation", int64_t{3}}}),
        // Nothing but padding at the sides.
        dense({1, 64, 3, 3}, {17, 64, 2, 2}, {{"pad", int64_t{5}}, {"dilation", int64_t{2}}}),
        // Lines that do not fit into local memory, and weights that are used part by part.
        dense({1, 64, 3, 400}, {5, 64, 3, 3}, {{"pad", one}}),
        dense({1, 700, 3, 4}, {64, 700, 3, 3}, {{"pad", one}}),
        // More weights than are packed at a time.
        dense({1, 300, 3, 3}, {900, 300, 3, 3}, {{"pad", one}})}) {
    cases.push_back(large);
  }
  return cases;
}

std::vector<Case> conv2d_cases(DType dtype) {
  std::vector<Case> cases = small_convolutions();
  for (Case& finished : finished_convolutions()) cases.push_back(std::move(finished));
  const size_t small = cases.size();
  for (size_t i = 0; i < small; ++i) cases.push_back(with_channels_last(cases[i]));
  for (Case& pixels : pixel_convolutions()) cases.push_back(std::move(pixels));
  if (!quick()) {
    for (Case& large : large_convolutions()) cases.push_back(std::move(large));
  }
  for (Case& example : cases) {
    for (TensorType& type : example.inputs) type.dtype = dtype;
    example.output.dtype = dtype;
  }
  return cases;
}

// Computes each output as the sum of its products.
Tensor convolved(const Case& example, const std::vector<Tensor>& inputs) {
  const bool last = channels_last(example.params);
  const Shape x = as_nchw(example.inputs[0].shape, last);
  const Shape& w = example.inputs[1].shape;
  const Shape o = as_nchw(example.output.shape, last);
  const auto stride = widened(example.params, "stride", 2, 1);
  const auto dilation = widened(example.params, "dilation", 2, 1);
  const auto pad = widened(example.params, "pad", 4, 0);
  const int64_t groups = widened(example.params, "groups", 1, 1)[0];
  const int64_t outputs_per_group = w[0] / groups;
  Tensor result(example.output);
  result.scales.assign(result.size(), 0);
  for (int64_t index = 0; index < example.output.count(); ++index) {
    const int64_t ox = index % o[3];
    const int64_t oy = index / o[3] % o[2];
    const int64_t co = index / (o[3] * o[2]) % o[1];
    const int64_t batch = index / (o[3] * o[2] * o[1]);
    const size_t to = element_at(o, last, batch, co, oy, ox);
    long double sum = inputs.size() > 2 ? inputs[2].reals[static_cast<size_t>(co)] : 0;
    if (inputs.size() > 3) sum += inputs[3].reals[to];
    long double magnitude = std::fabs(sum);
    for (int64_t ci = 0; ci < w[1]; ++ci) {
      const int64_t channel = co / outputs_per_group * w[1] + ci;
      for (int64_t ky = 0; ky < w[2]; ++ky) {
        const int64_t y = oy * stride[0] + ky * dilation[0] - pad[0];
        if (y < 0 || y >= x[2]) continue;
        for (int64_t kx = 0; kx < w[3]; ++kx) {
          const int64_t column = ox * stride[1] + kx * dilation[1] - pad[1];
          if (column < 0 || column >= x[3]) continue;
          const size_t from = element_at(x, last, batch, channel, y, column);
          const auto weight = static_cast<size_t>(((co * w[1] + ci) * w[2] + ky) * w[3] + kx);
          const long double product = inputs[0].reals[from] * inputs[1].reals[weight];
          sum += product;
          magnitude += std::fabs(product);
        }
      }
    }
    result.reals[to] = activated(example.params, sum);
    result.scales[to] = magnitude;
  }
  return result;
}

const SubjectOf kConv2d("conv2d", {conv2d_cases, convolved, 5e-6L, 1e-14L});

BufferPtr floats(const Shape& shape) { return zeros(DType::f32, shape); }

// Packs the weights of a call with these parameters, which conv2d gets too.
void check_packed(Case example, const Shape& packed, const Params& params, long double tolerance,
                  std::mt19937_64& random) {
  std::vector<Tensor> tensors;
  std::vector<BufferPtr> inputs;
  for (const TensorType& type : example.inputs) {
    tensors.push_back(random_tensor(type, random));
    inputs.push_back(buffer_of_bytes(type, to_bytes(tensors.back())));
  }
  const BufferPtr weights = floats(packed);
  run("conv2d_pack", {inputs[1]}, weights, params);
  inputs[1] = weights;
  for (const auto& [name, value] : params) example.params[name] = value;
  example.params["packed"] = true;
  const BufferPtr out = floats(example.output.shape);
  run("conv2d", inputs, out, example.params);
  const Tensor got = from_bytes(example.output, engine().runtime().read_now(out));
  const auto problem = difference(got, convolved(example, tensors), tolerance);
  CHECK_MESSAGE(!problem, to_string(example.inputs[0]), " with ", to_string(example.inputs[1]),
                ": ", problem.value_or(""));
}

}  // namespace

TEST_CASE("conv2d takes packed weights") {
  std::mt19937_64 random(7);
  for (const Case& example : conv2d_cases(DType::f32)) {
    if (!channels_last(example.params) || example.output.count() == 0) continue;
    const int64_t groups = widened(example.params, "groups", 1, 1)[0];
    check_packed(example, packed_weights_shape(example.inputs[1].shape, groups),
                 {{"groups", groups}}, 5e-6L, random);
  }
}

TEST_CASE("conv2d takes weights that are packed for Winograd's algorithm") {
  if (!engine().planner().cpu_class()) {
    CHECK(failure([&] {
            run("conv2d_pack", {floats({4, 4, 3, 3})}, floats({6, 6, 4, 16}), {{"winograd", true}});
          }).starts_with("unsupported: winograd of conv2d_pack needs a device of class cpu"));
    return;
  }
  std::mt19937_64 random(8);
  std::vector<Case> examples = conv2d_cases(DType::f32);
  // All remainders of tiles, panels and vectors; blocks of tiles; strips of panels; padding.
  for (int64_t size : {1, 3, 4, 5, 9, 30}) {
    for (int64_t channels : {1, 16, 33, 70, 130}) {
      examples.push_back(with_channels_last(convolution(
          {size % 2 + 1, channels, size, size + 3}, {channels + 5, channels, 3, 3},
          channels % 2 == 1, {{"pad", int64_t{size % 3}}, {"activation", std::string("silu")}})));
    }
  }
  int checked = 0;
  for (const Case& example : examples) {
    const Shape& weights = example.inputs[1].shape;
    const auto is_one = [&](const char* name) {
      return widened(example.params, name, 2, 1) == std::vector<int64_t>{1, 1};
    };
    if (!channels_last(example.params) || example.output.count() == 0 || weights[2] != 3 ||
        weights[3] != 3 || !is_one("stride") || !is_one("dilation") || !is_one("groups")) {
      continue;
    }
    ++checked;
    check_packed(example, winograd_weights_shape(weights), {{"winograd", true}}, 2e-5L, random);
  }
  CHECK(checked > 20);
}

TEST_CASE("conv2d reports what Winograd's algorithm cannot do") {
  const Params nhwc{{"layout", std::string("nhwc")}, {"packed", true}, {"winograd", true}};
  const auto rejected = [&](const char* name, const ParamValue& value) {
    Params params = nhwc;
    params[name] = value;
    return failure([&] {
      run("conv2d", {floats({1, 8, 8, 4}), floats({6, 6, 4, 16})}, floats({1, 6, 6, 6}), params);
    });
  };
  const std::string expected =
      "invalid_param: winograd of conv2d needs packed weights, and stride, dilation and groups of "
      "1";
  CHECK(rejected("stride", int64_t{2}) == expected);
  CHECK(rejected("dilation", int64_t{2}) == expected);
  CHECK(rejected("groups", int64_t{2}) == expected);
  CHECK(rejected("packed", false) == expected);
  CHECK(failure([&] {
          run("conv2d", {floats({1, 8, 8, 4}), floats({3, 3, 4, 16})}, floats({1, 6, 6, 6}), nhwc);
        }) ==
        "shape_mismatch: input 1 of conv2d has shape {3, 3, 4, 16}, expected {6, 6, 4, 16} as "
        "returned by conv2d_pack with winograd");
  CHECK(failure([&] {
          run("conv2d_pack", {floats({4, 4, 5, 5})}, floats({6, 6, 4, 16}), {{"winograd", true}});
        }) ==
        "invalid_param: winograd of conv2d_pack takes weights {co, c, 3, 3} of one group, got {4, "
        "4, 5, 5} and groups 1");
}

TEST_CASE("conv2d reports mismatches with packed weights") {
  const BufferPtr x = floats({1, 8, 8, 4});
  const BufferPtr out = floats({1, 6, 6, 6});
  const Params params{{"layout", std::string("nhwc")}, {"packed", true}};
  CHECK(failure([&] {
          run("conv2d", {x, floats({3, 3, 4, 16})}, out, {{"packed", true}});
        }) == "invalid_param: packed of conv2d must be false when layout is nchw");
  CHECK(failure([&] {
          run("conv2d", {x, floats({6, 4, 3, 3})}, out, params);
        }) ==
        "shape_mismatch: input 1 of conv2d has shape {6, 4, 3, 3}, expected {kh, kw, 4, 16} as "
        "returned by conv2d_pack");
  CHECK(failure([&] {
          run("conv2d", {x, floats({3, 3, 2, 32})}, floats({1, 6, 6, 7}),
              {{"layout", std::string("nhwc")}, {"packed", true}, {"groups", int64_t{2}}});
        }) ==
        "shape_mismatch: the output of conv2d has shape {1, 6, 6, 7}, expected {n, oh, ow, co} "
        "with co a multiple of the 2 groups");
}

TEST_CASE("conv2d reports mismatches of shape and element type") {
  const BufferPtr x = floats({1, 4, 8, 8});
  const BufferPtr weights = floats({6, 4, 3, 3});
  const BufferPtr out = floats({1, 6, 6, 6});
  CHECK(failure([&] { run("conv2d", {x}, out); }) ==
        "arity_mismatch: conv2d takes 2 to 4 inputs, got 1");
  CHECK(failure([&] {
          run("conv2d", {floats({4, 8, 8}), weights}, out);
        }) == "shape_mismatch: input 0 of conv2d has shape {4, 8, 8}, expected {n, c, h, w}");
  CHECK(failure([&] {
          run("conv2d", {floats({1, 4, 0, 8}), weights}, out);
        }) ==
        "shape_mismatch: input 0 of conv2d has shape {1, 4, 0, 8}, expected extents between 1 and "
        "1073741824 after the first");
  CHECK(failure([&] {
          run("conv2d", {x, floats({6, 3, 3, 3})}, out);
        }) == "shape_mismatch: input 1 of conv2d has shape {6, 3, 3, 3}, expected {co, 4, kh, kw}");
  CHECK(failure([&] {
          run("conv2d", {x, weights, floats({5})}, out);
        }) == "shape_mismatch: input 2 of conv2d has shape {5}, expected {6}");
  CHECK(failure([&] {
          run("conv2d", {x, weights, floats({6}), floats({1, 6, 6, 5})}, out);
        }) == "shape_mismatch: input 3 of conv2d has shape {1, 6, 6, 5}, expected {1, 6, 6, 6}");
  CHECK(failure([&] {
          run("conv2d", {floats({8, 8, 4}), weights}, out, {{"layout", std::string("nhwc")}});
        }) == "shape_mismatch: input 0 of conv2d has shape {8, 8, 4}, expected {n, h, w, c}");
  CHECK(failure([&] {
          run("conv2d", {x, weights}, floats({1, 6, 8, 8}));
        }) == "shape_mismatch: the output of conv2d has shape {1, 6, 8, 8}, expected {1, 6, 6, 6}");
  CHECK(failure([&] {
          run("conv2d", {x, floats({6, 4, 9, 3})}, out);
        }) ==
        "shape_mismatch: a window of conv2d spans 9 by 3 elements, more than the padded input's 8 "
        "by 8");
  CHECK(failure([&] {
          run("conv2d", {x, zeros(DType::f64, {6, 4, 3, 3})}, out);
        }) == "dtype_mismatch: input 1 of conv2d is f64, expected f32 like input 0");
  CHECK(failure([&] {
          run("conv2d", {x, weights}, zeros(DType::f64, {1, 6, 6, 6}));
        }) == "dtype_mismatch: the output of conv2d is f64, expected f32");
}

TEST_CASE("conv2d reports invalid parameters") {
  const BufferPtr x = floats({1, 4, 8, 8});
  const BufferPtr weights = floats({6, 4, 3, 3});
  const BufferPtr out = floats({1, 6, 6, 6});
  const auto refusal = [&](const std::string& name, const ParamValue& value) {
    return failure([&] { run("conv2d", {x, weights}, out, {{name, value}}); });
  };
  CHECK(refusal("stride", int64_t{0}) ==
        "invalid_param: stride of conv2d must be an integer between 1 and 65536, or 2 of them, got "
        "0");
  CHECK(refusal("stride", std::vector<double>{1, 2, 3}) ==
        "invalid_param: stride of conv2d must be an integer between 1 and 65536, or 2 of them, got "
        "{1, 2, 3}");
  CHECK(refusal("dilation", std::vector<double>{1, 0.5}) ==
        "invalid_param: dilation of conv2d must be an integer between 1 and 65536, or 2 of them, "
        "got {1, 0.5}");
  CHECK(refusal("pad", std::vector<double>{1, 2, 3}) ==
        "invalid_param: pad of conv2d must be an integer between 0 and 65536, or 2 or 4 of them, "
        "got {1, 2, 3}");
  CHECK(refusal("pad", 1.5) ==
        "invalid_param: pad of conv2d must be an integer between 0 and 65536, or 2 or 4 of them, "
        "got 1.5");
  CHECK(refusal("groups", int64_t{3}) ==
        "invalid_param: groups of conv2d must divide the 4 channels of input 0, got 3");
  CHECK(
      refusal("activation", std::string("tanh")) ==
      "invalid_param: activation of conv2d must be none, relu, relu6, clamp, leaky_relu, sigmoid, "
      "silu or hardswish, got tanh");
  CHECK(failure([&] {
          run("conv2d", {x, weights}, out,
              {{"activation", std::string("clamp")}, {"low", 2.0}, {"high", 1.0}});
        }) == "invalid_param: low of conv2d must be at most high, got 2 and 1");
  CHECK(refusal("layout", std::string("chwn")) ==
        "invalid_param: layout of conv2d must be nchw or nhwc, got chwn");
  CHECK(failure([&] {
          run("conv2d", {x, floats({5, 2, 3, 3})}, out, {{"groups", int64_t{2}}});
        }) ==
        "invalid_param: groups of conv2d must divide the 5 output channels of input 1, got 2");
}

TEST_CASE("an activation keeps NaN") {
  const float nan = std::nanf("");
  for (const std::string activation : {"none", "relu", "relu6"}) {
    const BufferPtr out = floats({1, 1, 1, 2});
    run("conv2d", {buffer<float>({nan, -1}, {1, 1, 1, 2}), buffer<float>({1}, {1, 1, 1, 1})}, out,
        {{"activation", activation}});
    const std::vector<float> got = read<float>(out);
    CHECK(std::isnan(got[0]));
    CHECK(got[1] == (activation == "none" ? -1.0F : 0.0F));
  }
}

}  // namespace dala::test
