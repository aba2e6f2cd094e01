// References of bincount and histogram_bins.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "support/subject.hpp"

namespace dala::test {
namespace {

std::vector<Case> cases(DType dtype, const std::vector<Params>& params) {
  std::vector<Case> all;
  std::vector<Shape> shapes{{}, {0}, {1}, {5}, {3, 7}, {1001}};
  std::vector<int64_t> bins{1, 2, 10, 256, 257};
  if (!quick()) {
    shapes.push_back({300000});
    bins.push_back(5000);
    bins.push_back(100000);
  }
  for (const Shape& shape : shapes) {
    for (int64_t count : bins) {
      for (const Params& each : params) {
        all.push_back({{{dtype, shape}}, {DType::u32, {count}}, each});
      }
    }
  }
  all.push_back({{{dtype, {9}}}, {DType::s32, {4}}, params[0]});
  all.push_back({{{dtype, {9}}}, {DType::u32, {0}}, params[0]});
  return all;
}

// Integers near the bins, not only far outside.
void near_bins(const Case& example, std::vector<Tensor>& inputs) {
  const int64_t bins = std::max<int64_t>(1, example.output.count());
  for (size_t i = 0; i < inputs[0].integers.size(); ++i) {
    int64_t& x = inputs[0].integers[i];
    if (i % 5 != 0) x = wrap(inputs[0].type.dtype, static_cast<int64_t>(i * 7919) % (bins + 3) - 1);
  }
}

const SubjectOf kBincount("bincount", {[](DType dtype) { return cases(dtype, {{}}); },
                                       [](const Case& example, const std::vector<Tensor>& inputs) {
                                         Tensor result(example.output);
                                         for (int64_t x : inputs[0].integers) {
                                           if (x < 0 || x >= example.output.count()) continue;
                                           ++result.integers[static_cast<size_t>(x)];
                                         }
                                         return result;
                                       },
                                       0, 0, 0, near_bins});

// The position between the bounds, in the type that the kernel's contract specifies: float for f32
// and u8, double for other types.
template <typename Real>
void count_between(Tensor& result, const Tensor& input, double min, double max) {
  const auto low = static_cast<Real>(min);
  const auto high = static_cast<Real>(max);
  const auto bins = static_cast<Real>(result.size());
  const Real scale = bins / (high - low);
  for (size_t i = 0; i < input.size(); ++i) {
    const Real x =
        input.is_real() ? static_cast<Real>(input.reals[i]) : static_cast<Real>(input.integers[i]);
    if (std::isnan(x) || x < low || x > high) continue;
    const auto bin = static_cast<size_t>((x - low) * scale);
    ++result.integers[std::min(bin, result.size() - 1)];
  }
}

const SubjectOf kHistogram(
    "histogram_bins",
    {[](DType dtype) {
       return cases(dtype, {{{"min", -3.0}, {"max", 2.5}}, {{"max", int64_t{100}}}, {}});
     },
     [](const Case& example, const std::vector<Tensor>& inputs) {
       Tensor result(example.output);
       if (result.size() == 0) return result;
       const auto number = [&](const std::string& name, double fallback) {
         const auto found = example.params.find(name);
         if (found == example.params.end()) return fallback;
         const auto* integer = std::get_if<int64_t>(&found->second);
         return integer != nullptr ? static_cast<double>(*integer)
                                   : std::get<double>(found->second);
       };
       const DType dtype = example.inputs[0].dtype;
       const bool narrow =
           dtype == DType::f32 || dtype == DType::u8 || !engine().runtime().device().info().fp64;
       const double min = number("min", 0);
       const double max = number("max", 1);
       if (narrow) {
         count_between<float>(result, inputs[0], min, max);
       } else {
         count_between<double>(result, inputs[0], min, max);
       }
       return result;
     },
     0, 0, 0,
     [](const Case&, std::vector<Tensor>& inputs) {
       for (size_t i = 0; i < inputs[0].reals.size(); i += 11) {
         inputs[0].reals[i] = std::numeric_limits<long double>::quiet_NaN();
       }
       for (size_t i = 3; i < inputs[0].reals.size(); i += 11) inputs[0].reals[i] = 2.5L;
     }});

}  // namespace

TEST_CASE("a histogram of many equal elements counts all of them") {
  const int64_t n = quick() ? 1000 : 1 << 20;
  const BufferPtr input = zeros(DType::u8, {n});
  const BufferPtr output = zeros(DType::u32, {256});
  run("bincount", {input}, output);
  CHECK(read<uint32_t>(output)[0] == static_cast<uint32_t>(n));
  CHECK(read<uint32_t>(output)[1] == 0);
}

TEST_CASE("counting says what does not fit") {
  const BufferPtr input = zeros(DType::s32, {4});
  CHECK(failure([&] { run("bincount", {input}, zeros(DType::f32, {4})); }) ==
        "dtype_mismatch: the output of bincount is f32, expected u32 or s32");
  CHECK(
      failure([&] {
        run("bincount", {input}, zeros(DType::u32, {4, 2}));
      }) ==
      "shape_mismatch: the output of bincount has shape {4, 2}, expected one dimension: the bins");
  CHECK(failure([&] {
          run("histogram_bins", {input}, zeros(DType::u32, {4}), {{"min", 3.0}});
        }) ==
        "invalid_param: max of histogram_bins must be above min, 3, as numbers of type f32, got "
        "1");
}

}  // namespace dala::test
