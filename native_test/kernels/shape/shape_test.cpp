// Reference implementations of the kernels that move elements.
#include <doctest/doctest.h>

#include <numeric>

#include "support/subject.hpp"

namespace dala::test {
namespace {

std::vector<size_t> axes_of(const Case& example) {
  const size_t rank = example.inputs[0].shape.size();
  std::vector<size_t> axes(rank);
  std::iota(axes.rbegin(), axes.rend(), size_t{0});
  const auto found = example.params.find("axes");
  if (found == example.params.end()) return axes;
  const auto& given = std::get<std::vector<double>>(found->second);
  for (size_t i = 0; i < rank; ++i) {
    axes[i] = static_cast<size_t>(given[i] < 0 ? given[i] + static_cast<double>(rank) : given[i]);
  }
  return axes;
}

Case transposition(DType dtype, const Shape& shape, const std::vector<double>& axes = {}) {
  Case example{{{dtype, shape}}, {dtype, {}}};
  if (!axes.empty()) example.params["axes"] = axes;
  for (size_t axis : axes_of(example)) example.output.shape.push_back(shape[axis]);
  return example;
}

std::vector<Case> transpose_cases(DType dtype) {
  std::vector<Case> cases;
  for (const Shape& shape : {Shape{},
                             {0, 3},
                             {1, 1},
                             {5},
                             {1, 9},
                             {3, 5},
                             {32, 32},
                             {31, 33},
                             {16, 17},
                             {2, 3, 4},
                             {2, 1, 3},
                             {2, 3, 2, 3}}) {
    cases.push_back(transposition(dtype, shape));
  }
  cases.push_back(transposition(dtype, {3, 4, 5}, {0, 2, 1}));
  cases.push_back(transposition(dtype, {3, 4, 5}, {1, 0, 2}));
  cases.push_back(transposition(dtype, {3, 4, 5}, {0, 1, 2}));
  cases.push_back(transposition(dtype, {3, 4, 5}, {-1, 0, 1}));
  cases.push_back(transposition(dtype, {2, 3, 4, 5}, {0, 2, 3, 1}));
  cases.push_back(transposition(dtype, {2, 3, 4, 5}, {0, 3, 1, 2}));
  cases.push_back(transposition(dtype, {2, 2, 2, 2, 2, 2, 2, 3}));
  if (quick()) return cases;
  cases.push_back(transposition(dtype, {257, 511}));
  cases.push_back(transposition(dtype, {70, 1000}));
  cases.push_back(transposition(dtype, {3, 100, 200}, {0, 2, 1}));
  cases.push_back(transposition(dtype, {40, 50, 60}, {2, 0, 1}));
  cases.push_back(transposition(dtype, {40, 50, 60}, {2, 1, 0}));
  return cases;
}

// Visits the input in order and writes every element to its new position.
Tensor transposed(const Case& example, const std::vector<Tensor>& inputs) {
  const Shape& from = example.inputs[0].shape;
  const std::vector<size_t> axes = axes_of(example);
  Tensor result(example.output);
  Shape position(from.size(), 0);
  for (size_t i = 0; i < inputs[0].size(); ++i) {
    int64_t target = 0;
    for (size_t axis : axes) target = target * from[axis] + position[axis];
    const auto at = static_cast<size_t>(target);
    if (result.is_real()) {
      result.reals[at] = inputs[0].reals[i];
    } else {
      result.integers[at] = inputs[0].integers[i];
    }
    for (size_t d = from.size(); d-- > 0;) {
      if (++position[d] < from[d]) break;
      position[d] = 0;
    }
  }
  return result;
}

const SubjectOf kTranspose("transpose", {transpose_cases, transposed});

const SubjectOf kReshape("reshape", {[](DType dtype) {
                                       return std::vector<Case>{
                                           {{{dtype, {}}}, {dtype, {1}}},
                                           {{{dtype, {0, 3}}}, {dtype, {0}}},
                                           {{{dtype, {2, 6}}}, {dtype, {3, 4}}},
                                           {{{dtype, {12}}}, {dtype, {12}}},
                                           {{{dtype, {100, 41}}}, {dtype, {41, 100}}},
                                       };
                                     },
                                     [](const Case& example, const std::vector<Tensor>& inputs) {
                                       Tensor result = inputs[0];
                                       result.type = example.output;
                                       return result;
                                     }});

// Every type as bytes, and as the widest type that it fits into.
std::vector<Case> bitcast_cases(DType dtype) {
  const auto size = static_cast<int64_t>(size_of(dtype));
  const int64_t eight = 8 / size;
  return {
      {{{dtype, {}}}, {DType::u8, {size}}},
      {{{dtype, {0, 3}}}, {DType::u8, {0}}},
      {{{dtype, {3, eight}}}, {DType::u64, {3}}},
      {{{dtype, {5, eight, 7}}}, {DType::u32, {70}}},
  };
}

// The value of each output element from its bytes, in little-endian order.
Tensor bits_of(const Case& example, const std::vector<Tensor>& inputs) {
  const std::vector<std::byte> bytes = to_bytes(inputs[0]);
  Tensor result(example.output);
  const size_t size = size_of(example.output.dtype);
  for (size_t i = 0; i < bytes.size(); ++i) {
    result.integers[i / size] |= std::to_integer<int64_t>(bytes[i]) << (8 * (i % size));
  }
  return result;
}

const SubjectOf kBitcast("bitcast", {bitcast_cases, bits_of});

}  // namespace

TEST_CASE("shape kernels report mismatches of shape, element type and axes") {
  const BufferPtr input = zeros(DType::f32, {2, 3});
  CHECK(failure([&] {
          run("transpose", {input}, zeros(DType::f32, {2, 3}));
        }) == "shape_mismatch: the output of transpose has shape {2, 3}, expected {3, 2}");
  CHECK(failure([&] {
          run("transpose", {input}, zeros(DType::f64, {3, 2}));
        }) == "dtype_mismatch: the output of transpose is f64, expected f32");
  for (const std::vector<double>& axes :
       {std::vector<double>{0}, {0, 0}, {0, 2}, {-3, 0}, {0, 1, 2}}) {
    const auto error = error_of([&] {
      run("transpose", {input}, zeros(DType::f32, {3, 2}), {{"axes", axes}});
    });
    REQUIRE(error);
    CHECK(error->reason == Reason::invalid_param);
  }
  CHECK(
      failure([&] {
        run("transpose", {input}, zeros(DType::f32, {3, 2}), {{"axes", std::vector<double>{1, 1}}});
      }) ==
      "invalid_param: axes of transpose must name each of the 2 dimensions of input 0 once, got "
      "{1, 1}");
  CHECK(failure([&] { run("reshape", {input}, zeros(DType::f32, {7})); }) ==
        "shape_mismatch: reshape keeps the number of elements: input 0 of shape {2, 3} has 6, the "
        "output of shape {7} has 7");
  CHECK(failure([&] { run("bitcast", {input}, zeros(DType::c64, {2})); }) ==
        "shape_mismatch: bitcast keeps the bytes: input 0, f32 {2, 3}, has 24, the output, c64 "
        "{2}, has 16");
}

TEST_CASE("more than eight dimensions that cannot be merged are refused") {
  const Shape shape(9, 2);
  CHECK(failure([&] { run("transpose", {zeros(DType::u8, shape)}, zeros(DType::u8, shape)); }) ==
        "unsupported: transpose takes at most 8 dimensions that cannot be merged, got shape "
        "{2, 2, 2, 2, 2, 2, 2, 2, 2}");
}

}  // namespace dala::test
