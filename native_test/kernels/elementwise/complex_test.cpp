// References of the operations on complex numbers.
#include <doctest/doctest.h>

#include <complex>
#include <limits>

#include "kernels/elementwise/pointwise_cases.hpp"

namespace dala::test {
namespace {

std::vector<Case> cases_of(DType in, DType out, int inputs) {
  std::vector<Case> cases = inputs == 1 ? unary_cases(in) : binary_cases(in);
  for (Case& example : cases) example.output.dtype = out;
  return cases;
}

template <typename Function>
Subject real_result(Function function) {
  return {[](DType dtype) { return cases_of(dtype, DType::f32, 1); },
          [function](const Case& example, const std::vector<Tensor>& inputs) {
            Tensor result(example.output);
            for (size_t i = 0; i < result.size(); ++i) {
              result.reals[i] = function(complex_at(
                  inputs[0], broadcast_index(inputs[0].type.shape, example.output.shape, i)));
            }
            return result;
          },
          kF32, kF64};
}

template <typename Function>
Subject complex_result(int inputs, Function function) {
  return {[inputs](DType dtype) { return cases_of(dtype, DType::c64, inputs); },
          [function](const Case& example, const std::vector<Tensor>& inputs) {
            Tensor result(example.output);
            for (size_t i = 0; i < result.size(); ++i) {
              const auto at = [&](size_t n) {
                return complex_at(inputs[n],
                                  broadcast_index(inputs[n].type.shape, example.output.shape, i));
              };
              result.integers[i] = complex_element(function(at(0), at(inputs.size() - 1)));
            }
            return result;
          }};
}

const SubjectOf kReal("real", real_result([](Complex x) { return x.real(); }));
const SubjectOf kImag("imag", real_result([](Complex x) { return x.imag(); }));
const SubjectOf kAbs("complex_abs", real_result([](Complex x) { return std::abs(x); }));
const SubjectOf kAngle("complex_angle", real_result([](Complex x) { return std::arg(x); }));
const SubjectOf kConjugate("conjugate",
                           complex_result(1, [](Complex x, Complex) { return std::conj(x); }));
const SubjectOf kComplex("complex", complex_result(2, [](Complex a, Complex b) {
                           return Complex(a.real(), b.real());
                         }));

std::vector<std::complex<float>> computed(const std::string& kernel,
                                          const std::vector<std::complex<float>>& a,
                                          const std::vector<std::complex<float>>& b) {
  const auto complex_buffer = [](const std::vector<std::complex<float>>& numbers) {
    std::vector<std::byte> bytes(sizeof(numbers[0]) * numbers.size());
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    return buffer_of_bytes({DType::c64, {static_cast<int64_t>(numbers.size())}}, std::move(bytes));
  };
  const BufferPtr output = zeros(DType::c64, {static_cast<int64_t>(a.size())});
  run(kernel, {complex_buffer(a), complex_buffer(b)}, output);
  std::vector<std::complex<float>> result;
  for (int64_t bits : read<int64_t>(output)) result.push_back(complex_of(bits));
  return result;
}

}  // namespace

TEST_CASE("quotients of complex numbers do not overflow on the way") {
  const float huge = 1e38F;
  const auto got = computed("elementwise_div", {{huge, huge}, {1, 2}, {1, 2}, {3, -4}},
                            {{huge, huge}, {0, 1}, {2, 0}, {0, 0}});
  CHECK(got[0] == std::complex<float>(1, 0));
  CHECK(got[1] == std::complex<float>(2, -1));
  CHECK(got[2] == std::complex<float>(0.5F, 1));
  CHECK(std::isnan(got[3].real()));
}

TEST_CASE("kernels of complex numbers say what they take") {
  const BufferPtr floats = zeros(DType::f32, {2});
  const BufferPtr numbers = zeros(DType::c64, {2});
  CHECK(failure([&] { run("real", {floats}, floats); }) ==
        "dtype_mismatch: input 0 of real is f32, expected c64");
  CHECK(failure([&] { run("real", {numbers}, numbers); }) ==
        "dtype_mismatch: the output of real is c64, expected f32");
  CHECK(failure([&] {
          run("elementwise_add", {numbers, floats}, numbers);
        }) == "dtype_mismatch: input 1 of elementwise_add is f32, expected c64 like input 0");
  CHECK(failure([&] { run("exp", {numbers}, numbers); }) ==
        "dtype_mismatch: input 0 of exp is c64, expected f32, f64, f16 or bf16");
}

}  // namespace dala::test
