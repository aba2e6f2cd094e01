// The reference of conv: every product of a window with a filter, in up to three dimensions.
#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "support/subject.hpp"

namespace dala::test {
namespace {

using List = std::vector<double>;

struct Geometry {
  Shape input;
  Shape weights;
  Params params = {};
  bool bias = false;
};

std::vector<Geometry> geometries() {
  std::vector<Geometry> all{
      {{1, 1, 1}, {1, 1, 1}},
      {{2, 3, 9}, {4, 3, 3}},
      {{2, 3, 9}, {4, 3, 3}, {{"stride", int64_t{2}}, {"low", int64_t{1}}}, true},
      {{1, 4, 11},
       {6, 2, 4},
       {{"groups", int64_t{2}}, {"dilation", int64_t{3}}, {"high", int64_t{2}}}},
      {{0, 2, 5}, {3, 2, 2}},
      {{2, 2, 3}, {0, 2, 2}},
      {{2, 3, 6, 7}, {5, 3, 3, 2}},
      {{1, 4, 6, 7},
       {4, 1, 3, 3},
       {{"groups", int64_t{4}},
        {"stride", List{2, 1}},
        {"low", List{0, 2}},
        {"high", List{1, 0}},
        {"dilation", List{1, 2}}},
       true},
      {{1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}},
      {{2, 3, 4, 5, 6}, {4, 3, 2, 3, 1}},
      {{2, 4, 5, 4, 3},
       {6, 2, 3, 2, 2},
       {{"groups", int64_t{2}},
        {"stride", List{2, 1, 3}},
        {"low", List{1, 0, 2}},
        {"high", List{0, 1, 2}},
        {"dilation", List{2, 1, 1}}},
       true},
      {{1, 2, 1, 3, 3}, {3, 2, 3, 3, 3}, {{"low", int64_t{4}}, {"high", int64_t{3}}}},
  };
  if (!quick()) {
    all.push_back({{2, 16, 300}, {20, 16, 9}, {{"low", int64_t{4}}, {"high", int64_t{4}}}, true});
    all.push_back({{2, 8, 10, 17, 18}, {24, 8, 3, 3, 3}, {{"low", int64_t{1}}}, true});
  }
  return all;
}

// A parameter along the last three dimensions; missing dimensions have the fallback.
std::array<int64_t, 3> along(const Params& params, const std::string& name, size_t rank,
                             int64_t fallback) {
  std::array<int64_t, 3> result{fallback, fallback, fallback};
  const auto found = params.find(name);
  if (found == params.end()) return result;
  for (size_t d = 0; d < rank; ++d) {
    const auto* list = std::get_if<List>(&found->second);
    result[3 - rank + d] =
        list != nullptr ? static_cast<int64_t>((*list)[d]) : std::get<int64_t>(found->second);
  }
  return result;
}

std::array<int64_t, 3> extents_of(const Shape& shape) {
  std::array<int64_t, 3> result{1, 1, 1};
  for (size_t d = 2; d < shape.size(); ++d) result[3 - (shape.size() - 2) + d - 2] = shape[d];
  return result;
}

struct Steps {
  explicit Steps(const Params& params, size_t rank)
      : stride(along(params, "stride", rank, 1)),
        dilation(along(params, "dilation", rank, 1)),
        low(along(params, "low", rank, 0)),
        high(along(params, "high", rank, 0)) {}
  std::array<int64_t, 3> stride, dilation, low, high;
};

Shape output_of(const Geometry& geometry) {
  const size_t rank = geometry.input.size() - 2;
  const Steps steps(geometry.params, rank);
  Shape shape{geometry.input[0], geometry.weights[0]};
  for (size_t d = 3 - rank; d < 3; ++d) {
    const int64_t reach = (extents_of(geometry.weights)[d] - 1) * steps.dilation[d] + 1;
    shape.push_back((extents_of(geometry.input)[d] + steps.low[d] + steps.high[d] - reach) /
                        steps.stride[d] +
                    1);
  }
  return shape;
}

Tensor convolved(const Case& example, const std::vector<Tensor>& inputs) {
  const Shape& in = example.inputs[0].shape;
  const Shape& weights = example.inputs[1].shape;
  const Steps steps(example.params, in.size() - 2);
  const auto given = example.params.find("groups");
  const int64_t groups = given == example.params.end() ? 1 : std::get<int64_t>(given->second);
  const auto size = extents_of(in);
  const auto window = extents_of(weights);
  const auto places = extents_of(example.output.shape);
  const int64_t filters = weights[0] / groups;
  Tensor result(example.output);
  result.scales.resize(result.size());
  for (size_t index = 0; index < result.size(); ++index) {
    auto rest = static_cast<int64_t>(index);
    std::array<int64_t, 3> place{};
    for (size_t d = 3; d-- > 0; rest /= places[d]) place[d] = rest % places[d];
    const int64_t filter = rest % weights[0];
    const int64_t image = rest / weights[0];
    long double sum = inputs.size() > 2 ? inputs[2].reals[static_cast<size_t>(filter)] : 0;
    long double scale = std::fabs(sum);
    for (int64_t c = 0; c < weights[1]; ++c) {
      const int64_t channel = filter / filters * weights[1] + c;
      for (int64_t k = 0; k < window[0] * window[1] * window[2]; ++k) {
        const std::array<int64_t, 3> tap{k / (window[1] * window[2]), k / window[2] % window[1],
                                         k % window[2]};
        int64_t at = image * in[1] + channel;
        bool inside = true;
        for (size_t d = 0; d < 3; ++d) {
          const int64_t x = place[d] * steps.stride[d] - steps.low[d] + tap[d] * steps.dilation[d];
          inside = inside && x >= 0 && x < size[d];
          at = at * size[d] + x;
        }
        if (!inside) continue;
        const int64_t weight = (filter * weights[1] + c) * window[0] * window[1] * window[2] + k;
        const long double product =
            inputs[0].reals[static_cast<size_t>(at)] * inputs[1].reals[static_cast<size_t>(weight)];
        sum += product;
        scale += std::fabs(product);
      }
    }
    result.reals[index] = sum;
    result.scales[index] = scale;
  }
  return result;
}

const SubjectOf kConv("conv", {[](DType dtype) {
                                 std::vector<Case> cases;
                                 for (const Geometry& each : geometries()) {
                                   Case example{{{dtype, each.input}, {dtype, each.weights}},
                                                {dtype, output_of(each)},
                                                each.params};
                                   if (each.bias) {
                                     example.inputs.push_back({dtype, {each.weights[0]}});
                                   }
                                   cases.push_back(example);
                                 }
                                 return cases;
                               },
                               convolved, 1e-6L, 1e-14L});

}  // namespace

TEST_CASE("conv says what does not fit") {
  const auto of = [](const Shape& in, const Shape& weights, const Params& params = {}) {
    return failure([&] {
      run("conv", {zeros(DType::f32, in), zeros(DType::f32, weights)}, zeros(DType::f32, {1, 1, 1}),
          params);
    });
  };
  CHECK(of({3, 4}, {3, 4}) ==
        "shape_mismatch: input 0 of conv has shape {3, 4}, expected a batch, channels, and one to "
        "three dimensions");
  CHECK(of({1, 4, 5}, {3, 3, 2}) ==
        "shape_mismatch: input 1 of conv has shape {3, 3, 2}, expected {co, 4} and the extents of "
        "a window along each of 1 dimensions");
  CHECK(of({1, 4, 5}, {3, 4, 7}, {{"low", int64_t{1}}}) ==
        "shape_mismatch: a window of conv spans 7 elements along dimension 2, more than the padded "
        "input's 6");
  CHECK(of({1, 4, 5}, {3, 2, 2}, {{"groups", int64_t{3}}}) ==
        "invalid_param: groups of conv must divide the 4 channels of input 0, got 3");
  CHECK(of({1, 4, 5, 5}, {3, 4, 2, 2}, {{"stride", List{1, 2, 3}}})
            .starts_with("invalid_param: stride of conv"));
  CHECK(of({1, 4, 5}, {3, 4, 2}) ==
        "shape_mismatch: the output of conv has shape {1, 1, 1}, expected {1, 3, 4}");
}

}  // namespace dala::test
