// Shared by the references of elementwise kernels: the shapes to try, and tensors computed from a
// function of numbers.
#pragma once

#include <complex>
#include <functional>
#include <vector>

#include "support/subject.hpp"

namespace dala::test {

// Sizes around vectors, chunks and work-groups.
inline std::vector<Shape> shapes() {
  std::vector<Shape> all = {{}, {0}, {1}, {7}, {64}, {257}, {3, 0, 2}, {2, 3, 4}, {1, 1, 1}};
  if (quick()) return all;
  for (const Shape& large :
       {Shape{2047}, Shape{2049}, Shape{16384}, Shape{16385}, Shape{100003}, Shape{37, 1001}}) {
    all.push_back(large);
  }
  std::mt19937_64 random(7);
  for (int i = 0; i < 6; ++i) {
    Shape shape(random() % 5);
    for (int64_t& extent : shape) extent = static_cast<int64_t>(random() % 12);
    all.push_back(shape);
  }
  return all;
}

struct Broadcast {
  Shape output;
  Shape a;
  Shape b;
};

inline std::vector<Broadcast> broadcasts() {
  std::vector<Broadcast> all = {
      {{4, 5}, {4, 5}, {5}},
      {{4, 5}, {5}, {4, 5}},
      {{4, 5}, {4, 1}, {4, 5}},
      {{4, 5}, {4, 5}, {}},
      {{4, 5}, {1}, {4, 5}},
      {{4, 5}, {4, 1}, {1, 5}},
      {{3, 4, 5}, {3, 1, 5}, {1, 4, 1}},
      {{3, 4}, {1, 4}, {1, 1}},
      {{6}, {}, {1}},
      {{2, 3, 4, 5}, {3, 1, 5}, {2, 3, 4, 5}},
      {{2, 3, 4, 5}, {2, 3, 1, 1}, {4, 5}},
      {{0, 3}, {1, 3}, {3}},
      // Eight dimensions that cannot be merged, and more that can.
      {{2, 1, 2, 2, 2, 3, 2, 2, 2}, {2, 1, 1, 2, 1, 3, 1, 2, 1}, {1, 1, 2, 1, 2, 1, 2, 1, 2}},
      {{1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 3, 1}, {2, 1, 2, 1, 2, 1, 2, 1, 2, 3, 1}, {2, 3, 1}},
  };
  if (quick()) return all;
  all.push_back({{1000, 37}, {1000, 37}, {37}});
  all.push_back({{1000, 37}, {1000, 1}, {1000, 37}});
  all.push_back({{50000, 3}, {3}, {50000, 3}});
  all.push_back({{300, 200}, {300, 1}, {200}});
  std::mt19937_64 random(11);
  for (int i = 0; i < 12; ++i) {
    Broadcast broadcast;
    broadcast.output.resize(1 + random() % 5);
    for (int64_t& extent : broadcast.output) extent = 1 + static_cast<int64_t>(random() % 9);
    for (Shape* input : {&broadcast.a, &broadcast.b}) {
      *input = broadcast.output;
      input->erase(input->begin(),
                   input->begin() + static_cast<std::ptrdiff_t>(random() % 2 * (random() % 3)) %
                                        static_cast<std::ptrdiff_t>(input->size()));
      for (int64_t& extent : *input) extent = random() % 3 == 0 ? 1 : extent;
    }
    all.push_back(broadcast);
  }
  return all;
}

inline std::vector<Case> unary_cases(DType dtype, const Params& params = {}) {
  std::vector<Case> cases;
  for (const Shape& shape : shapes()) {
    cases.push_back({{{dtype, shape}}, {dtype, shape}, params});
  }
  for (const Broadcast& broadcast : broadcasts()) {
    cases.push_back({{{dtype, broadcast.a}}, {dtype, broadcast.output}, params});
  }
  return cases;
}

inline std::vector<Case> binary_cases(DType dtype) {
  std::vector<Case> cases;
  for (const Shape& shape : shapes()) {
    cases.push_back({{{dtype, shape}, {dtype, shape}}, {dtype, shape}});
  }
  for (const Broadcast& broadcast : broadcasts()) {
    cases.push_back({{{dtype, broadcast.a}, {dtype, broadcast.b}}, {dtype, broadcast.output}});
  }
  return cases;
}

using RealFunction = std::function<long double(long double, long double)>;
using IntegerFunction = std::function<__int128(__int128, __int128)>;
using Complex = std::complex<long double>;
using ComplexFunction = std::function<Complex(Complex, Complex)>;

inline Complex complex_at(const Tensor& tensor, size_t index) {
  if (tensor.is_real()) return tensor.reals[index];
  const std::complex<float> number = complex_of(tensor.integers[index]);
  return {number.real(), number.imag()};
}
inline int64_t complex_element(Complex number) {
  return complex_bits({static_cast<float>(number.real()), static_cast<float>(number.imag())});
}

// The reference of an operation on up to two inputs, from a function for each kind of number.
inline auto pointwise(const RealFunction& of_reals, const IntegerFunction& of_integers,
                      const ComplexFunction& of_complex = {}) {
  return [of_reals, of_integers, of_complex](const Case& example,
                                             const std::vector<Tensor>& inputs) {
    Tensor result(example.output);
    for (size_t i = 0; i < result.size(); ++i) {
      size_t at[2] = {0, 0};
      for (size_t n = 0; n < inputs.size(); ++n) {
        at[n] = broadcast_index(inputs[n].type.shape, example.output.shape, i);
      }
      if (example.output.dtype == DType::c64) {
        const size_t last = inputs.size() - 1;
        result.integers[i] = complex_element(
            of_complex(complex_at(inputs[0], at[0]), complex_at(inputs[last], at[last])));
      } else if (result.is_real()) {
        result.reals[i] =
            of_reals(inputs[0].reals[at[0]], inputs.size() > 1 ? inputs[1].reals[at[1]] : 0.0L);
      } else {
        const auto number = [&](size_t n) {
          return n < inputs.size() ? number_of(inputs[n].type.dtype, inputs[n].integers[at[n]]) : 0;
        };
        result.integers[i] = wrap(example.output.dtype, of_integers(number(0), number(1)));
      }
    }
    return result;
  };
}

inline Subject binary(const RealFunction& of_reals, const IntegerFunction& of_integers,
                      long double f32_tolerance = 0, long double f64_tolerance = 0,
                      const ComplexFunction& of_complex = {}) {
  return {binary_cases, pointwise(of_reals, of_integers, of_complex), f32_tolerance, f64_tolerance};
}

inline Subject unary(const RealFunction& of_reals, const IntegerFunction& of_integers,
                     long double f32_tolerance = 0, long double f64_tolerance = 0,
                     const ComplexFunction& of_complex = {}) {
  return {[](DType dtype) { return unary_cases(dtype); },
          pointwise(of_reals, of_integers, of_complex), f32_tolerance, f64_tolerance};
}

// The error that OpenCL allows these functions, a few units in the last place.
constexpr long double kF32 = 1e-6L;
constexpr long double kF64 = 4e-15L;

}  // namespace dala::test
