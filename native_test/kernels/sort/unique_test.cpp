// The reference of unique: a sorted vector without repeated elements.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "support/subject.hpp"

namespace dala::test {
namespace {

bool wants_count(const Case& example) {
  const auto found = example.params.find("result");
  return found != example.params.end() && found->second == ParamValue(std::string("count"));
}

template <typename Number>
std::vector<Number> distinct(std::vector<Number> numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

Tensor found(const Case& example, const std::vector<Tensor>& inputs) {
  Tensor result(example.output);
  const std::vector<long double> reals = distinct(inputs[0].reals);
  const std::vector<__int128> integers = distinct(numbers_of(inputs[0]));
  if (wants_count(example)) {
    result.integers[0] = static_cast<int64_t>(inputs[0].is_real() ? reals.size() : integers.size());
    return result;
  }
  const bool filled = example.params.count("fill") > 0;
  for (size_t i = 0; i < result.size(); ++i) {
    if (result.is_real()) {
      result.reals[i] = i < reals.size() ? reals[i] : filled ? 3 : 0;
    } else {
      result.integers[i] = i < integers.size() ? wrap(example.output.dtype, integers[i])
                           : filled            ? 3
                                               : 0;
    }
  }
  return result;
}

const SubjectOf kUnique("unique",
                        {[](DType dtype) {
                           const Params count{{"result", std::string("count")}};
                           const Params fill{{"fill", int64_t{3}}};
                           std::vector<Case> cases{
                               {{{dtype, {1}}}, {dtype, {1}}},
                               {{{dtype, {7}}}, {dtype, {7}}},
                               {{{dtype, {7}}}, {dtype, {2}}},
                               {{{dtype, {7}}}, {dtype, {12}}, fill},
                               {{{dtype, {7}}}, {dtype, {0}}},
                               {{{dtype, {0}}}, {dtype, {3}}, fill},
                               {{{dtype, {0}}}, {DType::s64, {}}, count},
                               {{{dtype, {}}}, {dtype, {2}}},
                               {{{dtype, {3, 5, 2}}}, {dtype, {30}}, fill},
                               {{{dtype, {3, 5, 2}}}, {DType::s32, {1}}, count},
                               {{{dtype, {300}}}, {dtype, {300}}},
                               {{{dtype, {300}}}, {DType::u32, {}}, count},
                           };
                           if (!quick()) {
                             cases.push_back({{{dtype, {70001}}}, {dtype, {70001}}, fill});
                             cases.push_back({{{dtype, {70001}}}, {DType::s64, {}}, count});
                             cases.push_back({{{dtype, {1000}}}, {dtype, {90000}}, fill});
                           }
                           return cases;
                         },
                         found, 0, 0, 0,
                         [](const Case&, std::vector<Tensor>& inputs) {
                           // Half of the elements are repeated.
                           for (size_t i = 0; i < inputs[0].reals.size(); i += 2) {
                             inputs[0].reals[i] = std::round(inputs[0].reals[i]) + 0.0L;
                           }
                           for (size_t i = 0; i < inputs[0].integers.size(); i += 2)
                             inputs[0].integers[i] &= 15;
                         }});

}  // namespace

TEST_CASE("NaN is one element of unique, and so are both zeros") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const BufferPtr input = buffer<float>({nan, 2, -0.0F, 0, nan, -1, 2});
  const BufferPtr output = zeros(DType::f32, {6});
  run("unique", {input}, output, {{"fill", int64_t{9}}});
  const std::vector<float> got = read<float>(output);
  CHECK(std::vector<float>{got.begin(), got.begin() + 3} == std::vector<float>{-1, 0, 2});
  CHECK(std::isnan(got[3]));
  CHECK(std::vector<float>{got.begin() + 4, got.end()} == std::vector<float>{9, 9});
  const BufferPtr count = zeros(DType::s32, {});
  run("unique", {input}, count, {{"result", std::string("count")}});
  CHECK(read<int32_t>(count) == std::vector<int32_t>{4});
}

TEST_CASE("unique says what does not fit") {
  const BufferPtr input = zeros(DType::f32, {2, 2});
  CHECK(failure([&] {
          run("unique", {input}, zeros(DType::f32, {2, 2}));
        }) ==
        "shape_mismatch: the output of unique has shape {2, 2}, expected one dimension: the number "
        "of elements to keep");
  CHECK(failure([&] {
          run("unique", {input}, zeros(DType::s32, {4}), {{"result", std::string("count")}});
        }) == "shape_mismatch: the output of unique has shape {4}, expected {} or {1}");
  CHECK(failure([&] { run("unique", {input}, zeros(DType::s32, {4})); }) ==
        "dtype_mismatch: the output of unique is s32, expected f32");
}

}  // namespace dala::test
