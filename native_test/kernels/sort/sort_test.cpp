// References of sort, argsort and top_k.
#include <doctest/doctest.h>

#include <limits>
#include <numeric>

#include "support/subject.hpp"

namespace dala::test {
namespace {

struct Along {
  Shape shape;
  std::optional<int64_t> axis = {};
};

// Rows that are sorted by insertion, by one group, and by several; columns as well.
std::vector<Along> views() {
  std::vector<Along> all = {
      {{}},        {{1}},          {{0}},       {{7}},         {{3, 4}},
      {{3, 4}, 0}, {{2, 3, 4}, 1}, {{0, 3}, 1}, {{3, 0}, 0},   {{24}},
      {{25}},      {{130}},        {{2, 129}},  {{300, 2}, 0}, {{2, 257, 2}, -2}};
  if (quick()) return all;
  for (const Along& large : {Along{{2048}},
                             {{2049}},
                             {{3, 5000}},
                             {{70001}},
                             {{150000}},
                             {{70001, 2}, 0},
                             {{500, 40}},
                             {{40, 500}, 0}}) {
    all.push_back(large);
  }
  return all;
}

struct View {
  size_t outer = 1;
  size_t axis = 1;
  size_t inner = 1;
};

View view_of(const Case& example) {
  const Shape& shape = example.inputs[0].shape;
  const auto rank = static_cast<int64_t>(shape.size());
  const auto found = example.params.find("axis");
  int64_t at = found == example.params.end() ? -1 : std::get<int64_t>(found->second);
  if (at < 0) at += rank;
  View view;
  for (int64_t d = 0; d < rank; ++d) {
    const auto extent = static_cast<size_t>(shape[static_cast<size_t>(d)]);
    (d < at ? view.outer : d == at ? view.axis : view.inner) *= extent;
  }
  return view;
}

bool descending(const Case& example) {
  const auto direction = example.params.find("direction");
  if (direction != example.params.end()) return direction->second == ParamValue("desc");
  const auto largest = example.params.find("largest");
  return largest != example.params.end() && std::get<bool>(largest->second);
}

// Whether a precedes b.
template <typename T>
bool in_front(T a, T b, bool descends) {
  if (a != a) return false;
  if (b != b) return true;
  return descends ? a > b : a < b;
}

// Visits each result with its position and its element's.
template <typename Visit>
void each_sorted(const Case& example, const Tensor& input, size_t keep, Visit visit) {
  const View view = view_of(example);
  std::vector<size_t> order(view.axis);
  for (size_t o = 0; o < view.outer; ++o) {
    for (size_t i = 0; i < view.inner; ++i) {
      const auto at = [&](size_t k) { return (o * view.axis + k) * view.inner + i; };
      std::iota(order.begin(), order.end(), size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return input.is_real()
                   ? in_front(input.reals[at(a)], input.reals[at(b)], descending(example))
                   : in_front(number_of(input.type.dtype, input.integers[at(a)]),
                              number_of(input.type.dtype, input.integers[at(b)]),
                              descending(example));
      });
      for (size_t k = 0; k < keep; ++k) {
        visit((o * keep + k) * view.inner + i, at(order[k]), order[k]);
      }
    }
  }
}

Tensor sorted(const Case& example, const std::vector<Tensor>& inputs, size_t keep, bool places) {
  Tensor result(example.output);
  each_sorted(example, inputs[0], keep, [&](size_t to, size_t from, size_t place) {
    if (places) {
      result.integers[to] = static_cast<int64_t>(place);
    } else if (result.is_real()) {
      result.reals[to] = inputs[0].reals[from];
    } else {
      result.integers[to] = inputs[0].integers[from];
    }
  });
  return result;
}

// Many equal elements, and among floats zeros of both signs, infinities and NaN.
void many_equal(const Case&, std::vector<Tensor>& inputs) {
  const long double inf = std::numeric_limits<long double>::infinity();
  const long double special[] = {std::numeric_limits<long double>::quiet_NaN(), inf, -inf, 0,
                                 -0.0L};
  Tensor& input = inputs[0];
  for (size_t i = 0; i < input.size(); ++i) {
    if (input.is_real()) {
      if (i % 7 == 3) input.reals[i] = special[i / 7 % 5];
      if (i % 3 == 1) input.reals[i] = std::round(input.reals[i]);
    } else if (i % 3 == 1) {
      input.integers[i] = input.integers[i] % 4 + (input.integers[i] < 0 ? 4 : 0);
    }
  }
}

std::vector<Case> sort_cases(DType in, DType out) {
  std::vector<Case> cases;
  bool descends = false;
  for (const Along& along : views()) {
    Case example{{{in, along.shape}}, {out, along.shape}};
    if (along.axis) example.params["axis"] = *along.axis;
    if (descends) example.params["direction"] = std::string("desc");
    cases.push_back(example);
    descends = !descends;
  }
  for (const char* direction : {"asc", "desc"}) {
    for (int64_t length : {int64_t{200}, int64_t{quick() ? 300 : 100003}}) {
      cases.push_back({{{in, {length}}}, {out, {length}}, {{"direction", std::string(direction)}}});
    }
  }
  return cases;
}

size_t length_of(const Case& example) { return view_of(example).axis; }

const SubjectOf kSort("sort", {[](DType dtype) { return sort_cases(dtype, dtype); },
                               [](const Case& example, const std::vector<Tensor>& inputs) {
                                 return sorted(example, inputs, length_of(example), false);
                               },
                               0, 0, 0, many_equal});
const SubjectOf kArgsort("argsort", {[](DType dtype) {
                                       std::vector<Case> cases = sort_cases(dtype, DType::s64);
                                       for (DType out : {DType::s32, DType::u32}) {
                                         cases.push_back({{{dtype, {3, 50}}}, {out, {3, 50}}});
                                       }
                                       return cases;
                                     },
                                     [](const Case& example, const std::vector<Tensor>& inputs) {
                                       return sorted(example, inputs, length_of(example), true);
                                     },
                                     0, 0, 0, many_equal});

std::vector<Case> top_k_cases(DType dtype) {
  std::vector<Case> cases;
  int which = 0;
  for (const Along& along : views()) {
    Case example{{{dtype, along.shape}}, {dtype, along.shape}, {{"largest", which % 3 != 0}}};
    if (along.axis) example.params["axis"] = *along.axis;
    if (which % 2 == 1) {
      example.params["result"] = std::string("indices");
      example.output.dtype = DType::s32;
    }
    if (!along.shape.empty()) {
      const int64_t axis = along.axis.value_or(-1);
      const auto at =
          static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(along.shape.size()) : axis);
      int64_t& kept = example.output.shape[at];
      kept = std::min<int64_t>(kept, 1 + which % 5 * 3);
    }
    cases.push_back(example);
    ++which;
  }
  return cases;
}

const SubjectOf kTopK("top_k",
                      {top_k_cases,
                       [](const Case& example, const std::vector<Tensor>& inputs) {
                         const View view = view_of(example);
                         const size_t rows = view.outer * view.inner;
                         const size_t keep =
                             rows == 0 ? 0 : static_cast<size_t>(example.output.count()) / rows;
                         return sorted(example, inputs, keep, example.params.count("result") > 0);
                       },
                       0, 0, 0, many_equal});

}  // namespace

TEST_CASE("sort keeps the signs of zeros, the negative ones in front") {
  const BufferPtr output = zeros(DType::f32, {4});
  run("sort", {buffer<float>({0.0F, -0.0F, 1.0F, -0.0F})}, output);
  const std::vector<float> got = read<float>(output);
  CHECK(std::signbit(got[0]));
  CHECK(std::signbit(got[1]));
  CHECK(!std::signbit(got[2]));
}

TEST_CASE("sorting says what does not fit") {
  const BufferPtr input = zeros(DType::f32, {2, 3});
  CHECK(failure([&] {
          run("sort", {input}, zeros(DType::f32, {3, 2}));
        }) == "shape_mismatch: the output of sort has shape {3, 2}, expected {2, 3}");
  CHECK(failure([&] { run("argsort", {input}, input); }) ==
        "dtype_mismatch: the output of argsort is f32, expected s32, s64 or u32");
  CHECK(failure([&] {
          run("sort", {input}, input, {{"direction", std::string("up")}});
        }) == "invalid_param: direction of sort must be asc or desc, got up");
  CHECK(failure([&] {
          run("top_k", {input}, zeros(DType::f32, {2, 4}));
        }) ==
        "shape_mismatch: the output of top_k has shape {2, 4}, expected {2, 3} with at most as "
        "many along axis 1");
}

}  // namespace dala::test
