// References of the kernels that read and write elements by index.
#include <doctest/doctest.h>

#include "kernels/checks.hpp"
#include "support/subject.hpp"

namespace dala::test {
namespace {

int64_t extent(const Shape& shape, size_t from, size_t to) {
  int64_t product = 1;
  for (size_t d = from; d < to; ++d) product *= shape[d];
  return product;
}

// The position that an index refers to; -1 if it is out of range.
int64_t meant(const Tensor& indices, size_t place, int64_t size) {
  const __int128 index = number_of(indices.type.dtype, indices.integers[place]);
  const __int128 at = index < 0 ? index + size : index;
  return at >= 0 && at < size ? static_cast<int64_t>(at) : -1;
}

void copy_element(const Tensor& from, size_t source, Tensor& to, size_t target) {
  if (to.is_real()) {
    to.reals[target] = from.reals[source];
  } else {
    to.integers[target] = from.integers[source];
  }
}

size_t axis_of(const Case& example, int64_t fallback) {
  const auto found = example.params.find("axis");
  const int64_t axis = found == example.params.end() ? fallback : std::get<int64_t>(found->second);
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(example.inputs[0].shape.size())
                                      : axis);
}

int64_t highest_index(DType dtype) {
  const size_t bits = 8 * size_of(dtype) - (is_signed(dtype) ? 1 : 0);
  return bits >= 31 ? INT32_MAX : (int64_t{1} << bits) - 1;
}
int64_t lowest_index(DType dtype) { return is_signed(dtype) ? -highest_index(dtype) - 1 : 0; }

// Most indices are in range, some count from the end, few are out of range; many are equal.
void into_range(Tensor& indices, const std::function<int64_t(size_t)>& size_at) {
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t size = size_at(i);
    const bool negatives = is_signed(indices.type.dtype);
    int64_t& index = indices.integers[i];
    if (size == 0 || i % 11 == 7) continue;  // any value
    index = static_cast<int64_t>(static_cast<uint64_t>(index) % static_cast<uint64_t>(size));
    if (i % 5 == 2) index = index / 4;
    if (negatives && i % 4 == 1) index -= size;
    // Narrow types cannot address all of a long axis.
    index = std::clamp<int64_t>(index, lowest_index(indices.type.dtype),
                                highest_index(indices.type.dtype));
  }
}

DType index_type(size_t which) { return kAllIntegerDTypes[which % kAllIntegerDTypes.size()]; }

std::vector<Case> take_cases(DType dtype) {
  std::vector<Case> cases;
  const auto add = [&](const Shape& in, int64_t axis, const Shape& indices) {
    Case example{{{dtype, in}, {index_type(cases.size()), indices}}, {dtype, {}}, {{"axis", axis}}};
    const size_t at = axis_of(example, 0);
    Shape& shape = example.output.shape;
    shape.assign(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(at));
    shape.insert(shape.end(), indices.begin(), indices.end());
    shape.insert(shape.end(), in.begin() + static_cast<std::ptrdiff_t>(at) + 1, in.end());
    cases.push_back(example);
  };
  add({5}, 0, {3});
  add({5}, 0, {});
  add({5}, 0, {0});
  add({0}, 0, {3});
  add({5, 3}, 0, {4});
  add({5, 3}, 1, {4});
  add({5, 3}, -1, {2, 2});
  add({2, 5, 3}, 1, {7});
  add({2, 0, 3}, 1, {2});
  add({200, 16}, 0, {70});
  add({3, 300}, 1, {130});
  if (quick()) return cases;
  add({1000}, 0, {100003});
  add({1000, 16}, 0, {5000});
  add({4, 700}, 1, {20000});
  add({30, 40, 50}, 1, {111});
  return cases;
}

const SubjectOf kTake("take",
                      {take_cases,
                       [](const Case& example, const std::vector<Tensor>& inputs) {
                         const Shape& in = example.inputs[0].shape;
                         const size_t axis = axis_of(example, 0);
                         const auto outer = extent(in, 0, axis);
                         const auto inner = extent(in, axis + 1, in.size());
                         const auto picks = example.inputs[1].count();
                         Tensor result(example.output);
                         for (int64_t o = 0; o < outer; ++o) {
                           for (int64_t p = 0; p < picks; ++p) {
                             const int64_t at = meant(inputs[1], static_cast<size_t>(p), in[axis]);
                             for (int64_t i = 0; at >= 0 && i < inner; ++i) {
                               copy_element(
                                   inputs[0], static_cast<size_t>((o * in[axis] + at) * inner + i),
                                   result, static_cast<size_t>((o * picks + p) * inner + i));
                             }
                           }
                         }
                         return result;
                       },
                       0, 0, 0,
                       [](const Case& example, std::vector<Tensor>& inputs) {
                         const int64_t size = example.inputs[0].shape[axis_of(example, 0)];
                         into_range(inputs[1], [size](size_t) { return size; });
                       }});

std::vector<Case> along_cases(DType dtype) {
  std::vector<Case> cases;
  const auto add = [&](const Shape& in, int64_t axis, int64_t picks) {
    Case example{{{dtype, in}, {index_type(cases.size()), in}}, {dtype, in}, {{"axis", axis}}};
    const size_t at = axis_of(example, -1);
    example.inputs[1].shape[at] = picks;
    example.output.shape[at] = picks;
    cases.push_back(example);
  };
  add({5}, 0, 3);
  add({5}, 0, 9);
  add({5}, 0, 0);
  add({0}, 0, 2);
  add({3, 4}, 0, 5);
  add({3, 4}, 1, 5);
  add({3, 4}, -1, 2);
  add({2, 3, 4}, 1, 6);
  add({100, 70}, 1, 70);
  add({100, 70}, 0, 30);
  if (quick()) return cases;
  add({100003}, 0, 100003);
  add({30, 40, 50}, 1, 40);
  return cases;
}

const SubjectOf kAlong("take_along_axis",
                       {along_cases,
                        [](const Case& example, const std::vector<Tensor>& inputs) {
                          const Shape& in = example.inputs[0].shape;
                          const Shape& out = example.output.shape;
                          const size_t axis = axis_of(example, -1);
                          const auto inner = extent(in, axis + 1, in.size());
                          Tensor result(example.output);
                          for (size_t i = 0; i < result.size(); ++i) {
                            const int64_t at = meant(inputs[1], i, in[axis]);
                            if (at < 0) continue;
                            const auto place = static_cast<int64_t>(i);
                            const int64_t outer = place / (out[axis] * inner);
                            copy_element(inputs[0],
                                         static_cast<size_t>((outer * in[axis] + at) * inner +
                                                             place % inner),
                                         result, i);
                          }
                          return result;
                        },
                        0, 0, 0,
                        [](const Case& example, std::vector<Tensor>& inputs) {
                          const int64_t size = example.inputs[0].shape[axis_of(example, -1)];
                          into_range(inputs[1], [size](size_t) { return size; });
                        }});

// A tensor, the number of its leading dimensions that tuples index, and the shape in front of the
// tuples.
struct Tuples {
  Shape shape;
  int64_t depth;
  Shape in_front;
};

std::vector<Tuples> tuples() {
  std::vector<Tuples> all = {
      {{5}, 1, {3}},        {{5}, 1, {}},        {{5}, 1, {0}},       {{5, 3}, 1, {4}},
      {{5, 3}, 2, {4}},     {{5, 3}, 2, {2, 3}}, {{2, 3, 4}, 2, {6}}, {{2, 3, 4}, 3, {40}},
      {{2, 300}, 1, {5}},   {{7, 16}, 1, {60}},  {{130}, 1, {300}},   {{40, 3, 2}, 2, {90}},
      {{3, 1, 70}, 2, {9}},
  };
  if (quick()) return all;
  for (const Tuples& large : {Tuples{{1000}, 1, {100003}},
                              {{300, 16}, 1, {9000}},
                              {{50, 60, 4}, 2, {5000}},
                              {{20, 1000}, 1, {200}}}) {
    all.push_back(large);
  }
  return all;
}

void tuples_into_range(const Case& example, std::vector<Tensor>& inputs) {
  const auto depth = static_cast<size_t>(example.inputs[1].shape.back());
  into_range(inputs[1], [&](size_t i) { return example.inputs[0].shape[i % depth]; });
}

// The first element that tuple `n` addresses; none if it is out of range.
std::optional<size_t> under(const Case& example, const Tensor& indices, size_t n) {
  const Shape& shape = example.inputs[0].shape;
  const auto depth = static_cast<size_t>(example.inputs[1].shape.back());
  int64_t row = 0;
  for (size_t d = 0; d < depth; ++d) {
    const int64_t at = meant(indices, n * depth + d, shape[d]);
    if (at < 0) return std::nullopt;
    row = row * shape[d] + at;
  }
  return static_cast<size_t>(row * extent(shape, depth, shape.size()));
}

Case gather_case(DType dtype, const Tuples& each, size_t which) {
  Shape indices = each.in_front;
  indices.push_back(each.depth);
  Shape result = each.in_front;
  result.insert(result.end(), each.shape.begin() + each.depth, each.shape.end());
  return {{{dtype, each.shape}, {index_type(which), indices}}, {dtype, result}};
}

const SubjectOf kGather(
    "gather", {[](DType dtype) {
                 std::vector<Case> cases;
                 for (const Tuples& each : tuples()) {
                   cases.push_back(gather_case(dtype, each, cases.size()));
                 }
                 cases.push_back({{{dtype, {0, 3}}, {DType::s32, {2, 1}}}, {dtype, {2, 3}}});
                 return cases;
               },
               [](const Case& example, const std::vector<Tensor>& inputs) {
                 Tensor result(example.output);
                 const auto depth = static_cast<size_t>(example.inputs[1].shape.back());
                 const auto inner = static_cast<size_t>(
                     extent(example.inputs[0].shape, depth, example.inputs[0].shape.size()));
                 for (size_t n = 0; n < inputs[1].size() / depth; ++n) {
                   const auto from = under(example, inputs[1], n);
                   for (size_t i = 0; from && i < inner; ++i) {
                     copy_element(inputs[0], *from + i, result, n * inner + i);
                   }
                 }
                 return result;
               },
               0, 0, 0, tuples_into_range});

std::vector<Case> scatter_cases(DType dtype) {
  std::vector<Case> cases;
  for (const Tuples& each : tuples()) {
    Case example = gather_case(dtype, each, cases.size());
    example.inputs.push_back(example.output);
    example.output = example.inputs[0];
    cases.push_back(example);
  }
  cases.push_back({{{dtype, {0, 3}}, {DType::s32, {2, 1}}, {dtype, {2, 3}}}, {dtype, {0, 3}}});
  return cases;
}

// Visits the updates of each element in order, with the positions of the element and the update.
template <typename Visit>
void each_update(const Case& example, const std::vector<Tensor>& inputs, Visit visit) {
  const auto depth = static_cast<size_t>(example.inputs[1].shape.back());
  const auto inner =
      static_cast<size_t>(extent(example.output.shape, depth, example.output.shape.size()));
  for (size_t n = 0; n < inputs[1].size() / depth; ++n) {
    const auto to = under(example, inputs[1], n);
    for (size_t i = 0; to && i < inner; ++i) visit(*to + i, n * inner + i);
  }
}

const SubjectOf kPut("scatter_put", {scatter_cases,
                                     [](const Case& example, const std::vector<Tensor>& inputs) {
                                       Tensor result = inputs[0];
                                       each_update(example, inputs, [&](size_t to, size_t from) {
                                         copy_element(inputs[2], from, result, to);
                                       });
                                       return result;
                                     },
                                     0, 0, 0, tuples_into_range});

// Exact: sums are accumulated in the order of the indices, in the element type.
const SubjectOf kAdd("scatter_add",
                     {scatter_cases,
                      [](const Case& example, const std::vector<Tensor>& inputs) {
                        Tensor result = inputs[0];
                        each_update(example, inputs, [&](size_t to, size_t from) {
                          if (!result.is_real()) {
                            result.integers[to] = wrap(example.output.dtype,
                                                       static_cast<__int128>(result.integers[to]) +
                                                           inputs[2].integers[from]);
                          } else if (example.output.dtype != DType::f64) {
                            // As floats; those of 16 bits are rounded once, at the end.
                            result.reals[to] = static_cast<float>(result.reals[to]) +
                                               static_cast<float>(inputs[2].reals[from]);
                          } else {
                            result.reals[to] = static_cast<double>(result.reals[to]) +
                                               static_cast<double>(inputs[2].reals[from]);
                          }
                        });
                        return result;
                      },
                      0, 0, 0, tuples_into_range});

}  // namespace

TEST_CASE("kernels by index say what does not fit") {
  const BufferPtr floats = zeros(DType::f32, {4, 5});
  const BufferPtr indices = zeros(DType::s32, {3});
  CHECK(failure([&] {
          run("take", {floats, floats}, floats);
        }) ==
        "dtype_mismatch: input 1 of take is f32, "
        "expected s32, s64, u32, u8, s8, s16, u16 or u64");
  CHECK(failure([&] {
          run("take", {floats, indices}, zeros(DType::f32, {4, 5}));
        }) == "shape_mismatch: the output of take has shape {4, 5}, expected {3, 5}");
  CHECK(failure([&] {
          run("take", {zeros(DType::f32, {}), indices}, zeros(DType::f32, {3}));
        }) == "shape_mismatch: input 0 of take is a scalar, expected axes");
  CHECK(failure([&] {
          run("take_along_axis", {floats, zeros(DType::s32, {3, 2})}, zeros(DType::f32, {3, 2}));
        }) ==
        "shape_mismatch: input 1 of take_along_axis has shape {3, 2}, expected {4, 5} like input "
        "0, but for axis 1");
  CHECK(failure([&] {
          run("gather", {floats, indices}, floats);
        }) ==
        "shape_mismatch: input 1 of gather has shape {3}, expected 1 to 2 along its last axis, for "
        "input 0 of shape {4, 5}");
  const BufferPtr pairs = zeros(DType::s32, {3, 2});
  CHECK(failure([&] {
          run("scatter_add", {floats, pairs, zeros(DType::f32, {3, 5})}, floats);
        }) == "shape_mismatch: input 2 of scatter_add has shape {3, 5}, expected {3}");
  CHECK(failure([&] {
          run("scatter_put", {floats, pairs, zeros(DType::s32, {3})}, floats);
        }) == "dtype_mismatch: input 2 of scatter_put is s32, expected f32 like input 0");
}

}  // namespace dala::test
