// The reference of dot: every sum of products by the coordinates of its factors.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "support/subject.hpp"

namespace dala::test {
namespace {

using List = std::vector<double>;

struct Contraction {
  Shape left;
  Shape right;
  Params params = {};
};

std::vector<Contraction> contractions() {
  std::vector<Contraction> all{
      {{1}, {1}},
      {{5}, {5}},
      {{2, 3}, {3, 4}},
      {{2, 3}, {3}},
      {{3}, {3, 2}},
      {{0}, {0}},
      {{2, 0}, {0, 3}},
      {{0, 2}, {2, 3}},
      {{3, 2}, {3, 4}, {{"left_axes", List{0}}}},
      {{2, 3}, {4, 3}, {{"right_axes", List{-1}}}},
      {{2, 3}, {4, 5}, {{"left_axes", List{}}, {"right_axes", List{}}}},
      {{2, 3, 4}, {4, 3, 5}, {{"left_axes", List{1, 2}}, {"right_axes", List{1, 0}}}},
      {{2, 3, 4}, {4, 3, 5}, {{"left_axes", List{2, 1}}, {"right_axes", List{0, 1}}}},
      {{3, 7, 5},
       {3, 5, 9},
       {{"left_axes", List{2}},
        {"right_axes", List{1}},
        {"left_batch", List{0}},
        {"right_batch", List{0}}}},
      {{7, 3, 5},
       {5, 9, 3},
       {{"left_axes", List{2}},
        {"right_axes", List{0}},
        {"left_batch", List{1}},
        {"right_batch", List{2}}}},
      {{2, 3, 4, 5},
       {5, 3, 2, 6},
       {{"left_axes", List{-1}},
        {"right_axes", List{0}},
        {"left_batch", List{0, 1}},
        {"right_batch", List{2, 1}}}},
      // The batch alone, whose axes have defaults left.
      {{4, 6}, {4, 6}, {{"left_batch", List{0}}, {"right_batch", List{0}}}},
      // All axes of one operand are contracted.
      {{2, 3}, {4, 3, 2}, {{"left_axes", List{0, 1}}, {"right_axes", List{2, 1}}}},
      {{3, 4, 2, 5}, {2, 4}, {{"left_axes", List{2, 1}}, {"right_axes", List{0, 1}}}},
  };
  if (!quick()) {
    all.push_back(
        {{40, 30, 20}, {20, 50, 30}, {{"left_axes", List{1, 2}}, {"right_axes", List{2, 0}}}});
    all.push_back({{70, 6, 90},
                   {80, 90, 6},
                   {{"left_axes", List{2}},
                    {"right_axes", List{1}},
                    {"left_batch", List{1}},
                    {"right_batch", List{2}}}});
  }
  return all;
}

std::vector<size_t> axes_of(const Params& params, const std::string& name, size_t rank,
                            std::optional<size_t> fallback) {
  const auto found = params.find(name);
  std::vector<size_t> axes;
  if (found == params.end()) {
    if (fallback) axes.push_back(*fallback);
    return axes;
  }
  for (double axis : std::get<List>(found->second)) {
    axes.push_back(static_cast<size_t>(axis < 0 ? axis + static_cast<double>(rank) : axis));
  }
  return axes;
}

struct Roles {
  std::vector<size_t> batch;
  std::vector<size_t> contracted;
  std::vector<size_t> free;
};

Roles roles_of(const Params& params, const Shape& shape, bool left) {
  const size_t rank = shape.size();
  Roles roles;
  roles.batch = axes_of(params, left ? "left_batch" : "right_batch", rank, std::nullopt);
  // In the cases above, a batch that has defaults left is the first axis.
  const size_t fallback = left ? rank - 1 : roles.batch.size();
  roles.contracted = axes_of(params, left ? "left_axes" : "right_axes", rank, fallback);
  for (size_t d = 0; d < rank; ++d) {
    const auto has = [d](const std::vector<size_t>& axes) {
      return std::count(axes.begin(), axes.end(), d) > 0;
    };
    if (!has(roles.batch) && !has(roles.contracted)) roles.free.push_back(d);
  }
  return roles;
}

Shape picked(const Shape& shape, const std::vector<size_t>& axes) {
  Shape result;
  for (size_t axis : axes) result.push_back(shape[axis]);
  return result;
}

size_t count_of(const Shape& shape) {
  size_t count = 1;
  for (int64_t extent : shape) count *= static_cast<size_t>(extent);
  return count;
}

// The offset in a tensor of the coordinates that `index` is along these axes.
size_t offset(const Shape& shape, const std::vector<size_t>& axes, size_t index) {
  size_t at = 0;
  for (size_t i = axes.size(); i-- > 0;) {
    const auto extent = static_cast<size_t>(shape[axes[i]]);
    size_t stride = 1;
    for (size_t d = axes[i] + 1; d < shape.size(); ++d) stride *= static_cast<size_t>(shape[d]);
    at += index % extent * stride;
    index /= extent;
  }
  return at;
}

Tensor contracted(const Case& example, const std::vector<Tensor>& inputs) {
  const Shape& a = example.inputs[0].shape;
  const Shape& b = example.inputs[1].shape;
  const Roles left = roles_of(example.params, a, true);
  const Roles right = roles_of(example.params, b, false);
  const size_t rows = count_of(picked(a, left.free));
  const size_t columns = count_of(picked(b, right.free));
  const size_t depth = count_of(picked(a, left.contracted));
  Tensor result(example.output);
  result.scales.resize(result.is_real() ? result.size() : 0);
  for (size_t at = 0; at < result.size(); ++at) {
    const size_t matrix = at / (rows * columns);
    const size_t from_a = offset(a, left.batch, matrix) + offset(a, left.free, at / columns % rows);
    const size_t from_b = offset(b, right.batch, matrix) + offset(b, right.free, at % columns);
    long double sum = 0;
    uint64_t bits = 0;
    for (size_t k = 0; k < depth; ++k) {
      const size_t x = from_a + offset(a, left.contracted, k);
      const size_t y = from_b + offset(b, right.contracted, k);
      if (result.is_real()) {
        sum += inputs[0].reals[x] * inputs[1].reals[y];
        result.scales[at] += std::fabs(inputs[0].reals[x] * inputs[1].reals[y]);
      } else {
        bits += static_cast<uint64_t>(inputs[0].integers[x]) *
                static_cast<uint64_t>(inputs[1].integers[y]);
      }
    }
    if (result.is_real()) {
      result.reals[at] = sum;
    } else {
      result.integers[at] = wrap(example.output.dtype, static_cast<int64_t>(bits));
    }
  }
  return result;
}

const SubjectOf kDot(
    "dot",
    {[](DType dtype) {
       std::vector<Case> cases;
       for (const Contraction& each : contractions()) {
         const Roles left = roles_of(each.params, each.left, true);
         const Roles right = roles_of(each.params, each.right, false);
         Shape out = picked(each.left, left.batch);
         for (int64_t n : picked(each.left, left.free)) out.push_back(n);
         for (int64_t n : picked(each.right, right.free)) out.push_back(n);
         cases.push_back({{{dtype, each.left}, {dtype, each.right}}, {dtype, out}, each.params});
       }
       return cases;
     },
     contracted, 1e-6L, 1e-14L});

}  // namespace

TEST_CASE("dot says what does not fit") {
  const BufferPtr a = zeros(DType::f32, {2, 3});
  const BufferPtr b = zeros(DType::f32, {4, 5});
  const BufferPtr out = zeros(DType::f32, {2, 5});
  CHECK(failure([&] {
          run("dot", {a, b}, out);
        }) ==
        "shape_mismatch: dot needs contracted dimensions that are equal, got {3} of {2, 3} and {4} "
        "of {4, 5}");
  CHECK(failure([&] {
          run("dot", {a, b}, out, {{"left_axes", List{2}}});
        }) ==
        "invalid_param: left_axes of dot must name dimensions of input 0 ({2, 3}) once each, got "
        "{2}");
  CHECK(failure([&] {
          run("dot", {a, b}, out, {{"right_axes", List{0, -2}}});
        }) ==
        "invalid_param: right_axes of dot must name dimensions of input 1 ({4, 5}) once each, got "
        "{0, -2}");
  CHECK(failure([&] {
          run("dot", {a, a}, out, {{"left_batch", List{1}}, {"left_axes", List{1}}});
        }) == "invalid_param: dimension 1 of input 0 of dot is both a batch and contracted");
  CHECK(failure([&] {
          run("dot", {a, zeros(DType::f32, {3, 4})}, out);
        }) == "shape_mismatch: the output of dot has shape {2, 5}, expected {2, 4}");
}

}  // namespace dala::test
