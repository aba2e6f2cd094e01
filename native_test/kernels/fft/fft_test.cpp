// References of the Fourier transforms: the defining sum in long double, with angles reduced before
// they are rounded; for long transforms, a few of its points.
#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>

#include "kernels/fft/fft_plan.hpp"
#include "support/subject.hpp"

namespace dala::test {
namespace {

using Complex = std::complex<long double>;

// e^(-2 pi i k / n) for all k.
std::vector<Complex> roots_of(int64_t n, bool inverse) {
  std::vector<Complex> roots(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; ++k) {
    const long double angle = 2 * std::numbers::pi_v<long double> * static_cast<long double>(k) /
                              static_cast<long double>(n);
    roots[static_cast<size_t>(k)] = {std::cos(angle), inverse ? std::sin(angle) : -std::sin(angle)};
  }
  return roots;
}

// Point j of the transform of the points at begin, begin + step, ...
Complex point_of(const std::vector<Complex>& x, size_t begin, size_t step, size_t j,
                 const std::vector<Complex>& roots) {
  const size_t n = roots.size();
  Complex sum = 0;
  for (size_t k = 0, turn = 0; k < n; ++k, turn = (turn + j) % n) {
    sum += x[begin + k * step] * roots[turn];
  }
  return sum;
}

// The transform along one axis.
std::vector<Complex> transformed(const std::vector<Complex>& x, const Shape& shape, size_t axis,
                                 bool inverse) {
  const auto n = static_cast<size_t>(shape[axis]);
  size_t inner = 1;
  for (size_t d = axis + 1; d < shape.size(); ++d) inner *= static_cast<size_t>(shape[d]);
  const std::vector<Complex> roots = roots_of(shape[axis], inverse);
  std::vector<Complex> result(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t j = i / inner % n;
    result[i] = point_of(x, i - j * inner, inner, j, roots);
    if (inverse) result[i] /= static_cast<long double>(n);
  }
  return result;
}

std::vector<Complex> complex_of(const Tensor& pairs) {
  std::vector<Complex> result(pairs.size() / 2);
  for (size_t i = 0; i < result.size(); ++i) {
    result[i] = {pairs.reals[2 * i], pairs.reals[2 * i + 1]};
  }
  return result;
}

// Errors are relative to the norm of the input, since each point is a sum over it.
void set_pairs(Tensor& result, const std::vector<Complex>& points) {
  long double norm = 0;
  for (const Complex& point : points) norm += std::norm(point);
  norm = std::sqrt(norm / static_cast<long double>(std::max<size_t>(1, points.size())));
  for (size_t i = 0; i < points.size(); ++i) {
    result.reals[2 * i] = points[i].real();
    result.reals[2 * i + 1] = points[i].imag();
  }
  result.scales.assign(result.size(), norm);
}

std::vector<int64_t> axes_of(const Case& example, size_t rank) {
  std::vector<int64_t> axes{-1};
  if (const auto found = example.params.find("axes"); found != example.params.end()) {
    if (const auto* one = std::get_if<int64_t>(&found->second)) {
      axes = {*one};
    } else {
      axes.clear();
      for (double axis : std::get<std::vector<double>>(found->second)) {
        axes.push_back(static_cast<int64_t>(axis));
      }
    }
  }
  for (int64_t& axis : axes) axis += axis < 0 ? static_cast<int64_t>(rank) : 0;
  return axes;
}

Tensor complex_transform(const Case& example, const std::vector<Tensor>& inputs, bool inverse) {
  Tensor result(example.output);
  Shape shape = example.output.shape;
  shape.pop_back();
  std::vector<Complex> points = complex_of(inputs[0]);
  for (int64_t axis : axes_of(example, shape.size())) {
    points = transformed(points, shape, static_cast<size_t>(axis), inverse);
  }
  set_pairs(result, points);
  return result;
}

std::vector<Case> complex_cases(DType dtype) {
  std::vector<Case> all;
  const auto add = [&](Shape shape, const Params& params = {}) {
    shape.push_back(2);
    all.push_back({{{dtype, shape}}, {dtype, shape}, params});
  };
  std::vector<int64_t> lengths{1,  2,  3,  4,  5,  6,  7,  8,  9,  11,
                               13, 15, 16, 17, 25, 31, 32, 37, 49, 60};
  if (!quick()) {
    for (int64_t n : {64, 77, 97, 121, 127, 128, 131, 210, 256, 509, 512, 1000, 1009, 1024, 1536,
                      2048, 2049, 2187, 2310}) {
      lengths.push_back(n);
    }
  }
  for (int64_t n : lengths) add({n});
  add({0});
  add({0, 3});
  add({3, 0}, {{"axes", int64_t{0}}});
  // Batches around a tile, and strides.
  for (int64_t batch : {2, 7, 8, 15, 16, 17, 33}) {
    add({batch, 12});
    add({12, batch}, {{"axes", int64_t{0}}});
  }
  add({3, 10, 5}, {{"axes", int64_t{1}}});
  add({20, 10, 3}, {{"axes", int64_t{-2}}});
  add({2, 9, 33}, {{"axes", int64_t{1}}});
  add({19, 29});
  add({4, 5, 6}, {{"axes", std::vector<double>{0, 1, 2}}});
  add({9, 14}, {{"axes", std::vector<double>{-1, -2}}});
  add({3, 4}, {{"axes", std::vector<double>{}}});
  if (!quick()) {
    add({100, 128});
    add({40, 360});
    add({360, 40}, {{"axes", int64_t{0}}});
    add({50, 60}, {{"axes", std::vector<double>{0, 1}}});
    add({3, 1021});
    add({521, 3}, {{"axes", int64_t{0}}});
    add({4, 4096});
  }
  return all;
}

Subject complex_subject(bool inverse) {
  return {complex_cases,
          [inverse](const Case& example, const std::vector<Tensor>& inputs) {
            return complex_transform(example, inputs, inverse);
          },
          3e-6L, 5e-15L};
}

const SubjectOf kFft("fft", complex_subject(false));
const SubjectOf kIfft("ifft", complex_subject(true));

struct Along {
  Shape shape;
  int64_t axis = -1;
};

std::vector<Along> real_views() {
  std::vector<Along> all = {{{1}},        {{2}},          {{3}},     {{8}},
                            {{17}},       {{60}},         {{3, 10}}, {{17, 6}},
                            {{6, 17}, 0}, {{2, 7, 3}, 1}, {{0, 4}},  {{2, 0, 3}, 0}};
  if (!quick()) {
    for (const Along& large : {Along{{1000}}, {{1009}}, {{20, 512}}, {{1024}}}) {
      all.push_back(large);
    }
  }
  return all;
}

size_t axis_of(const Along& along) {
  return static_cast<size_t>(along.axis < 0 ? along.axis + static_cast<int64_t>(along.shape.size())
                                            : along.axis);
}

Shape half_shape(const Along& along) {
  Shape shape = along.shape;
  shape[axis_of(along)] = shape[axis_of(along)] / 2 + 1;
  return shape;
}

const SubjectOf kRfft(
    "rfft",
    {[](DType dtype) {
       std::vector<Case> all;
       for (const Along& along : real_views()) {
         Shape out = half_shape(along);
         out.push_back(2);
         all.push_back({{{dtype, along.shape}}, {dtype, out}, {{"axis", along.axis}}});
       }
       return all;
     },
     [](const Case& example, const std::vector<Tensor>& inputs) {
       Tensor result(example.output);
       const Along along{example.inputs[0].shape, std::get<int64_t>(example.params.at("axis"))};
       const size_t axis = axis_of(along);
       std::vector<Complex> points(inputs[0].reals.begin(), inputs[0].reals.end());
       points = transformed(points, along.shape, axis, false);
       size_t inner = 1;
       for (size_t d = axis + 1; d < along.shape.size(); ++d) {
         inner *= static_cast<size_t>(along.shape[d]);
       }
       std::vector<Complex> half;
       for (size_t i = 0; i < points.size(); ++i) {
         const auto j = static_cast<int64_t>(i / inner) % along.shape[axis];
         if (j <= along.shape[axis] / 2) half.push_back(points[i]);
       }
       set_pairs(result, half);
       return result;
     },
     3e-6L, 5e-15L});

const SubjectOf kIrfft(
    "irfft",
    {[](DType dtype) {
       std::vector<Case> all;
       for (const Along& along : real_views()) {
         Shape in = half_shape(along);
         in.push_back(2);
         all.push_back({{{dtype, in}}, {dtype, along.shape}, {{"axes", along.axis}}});
       }
       return all;
     },
     [](const Case& example, const std::vector<Tensor>& inputs) {
       Tensor result(example.output);
       const Along along{example.output.shape, std::get<int64_t>(example.params.at("axes"))};
       const size_t axis = axis_of(along);
       const int64_t n = along.shape[axis];
       size_t inner = 1;
       for (size_t d = axis + 1; d < along.shape.size(); ++d) {
         inner *= static_cast<size_t>(along.shape[d]);
       }
       const auto whole = static_cast<size_t>(n);
       const size_t half = whole / 2 + 1;
       const std::vector<Complex> given = complex_of(inputs[0]);
       std::vector<Complex> points(result.size());
       for (size_t i = 0; i < points.size(); ++i) {
         const size_t j = i / inner % whole;
         const size_t o = i / inner / whole;
         const size_t own = j < half ? j : whole - j;
         Complex point = given[(o * half + own) * inner + i % inner];
         if (2 * own % whole == 0) point = point.real();
         points[i] = j < half ? point : std::conj(point);
       }
       points = transformed(points, along.shape, axis, true);
       for (size_t i = 0; i < points.size(); ++i) result.reals[i] = points[i].real();
       long double norm = 0;
       for (long double x : result.reals) norm += x * x;
       norm = std::sqrt(norm / static_cast<long double>(std::max<size_t>(1, result.size())));
       result.scales.assign(result.size(), norm);
       return result;
     },
     3e-6L, 5e-15L});

}  // namespace

TEST_CASE("long transforms have small errors, and their inverse gives the numbers back") {
  if (quick()) return;
  struct Long {
    int64_t batch;
    int64_t n;
  };
  for (const Long& each : {Long{1, 1 << 16},
                           {1, 100000},
                           {3, 65537},
                           {1, 1 << 20},
                           {2, 999983},
                           {1, 6 * 1024 * 1024}}) {
    CAPTURE(each.n);
    std::mt19937_64 random(7);
    const TensorType type{DType::f32, {each.batch, each.n, 2}};
    const Tensor input = random_tensor(type, random);
    const BufferPtr output = zeros(DType::f32, type.shape);
    const BufferPtr given = buffer_of_bytes(type, to_bytes(input));
    run("fft", {given}, output);
    const std::vector<float> got = read<float>(output);
    const std::vector<Complex> x = complex_of(input);
    const std::vector<Complex> roots = roots_of(each.n, false);
    long double norm = 0;
    for (const Complex& point : x) norm += std::norm(point);
    norm = std::sqrt(norm / static_cast<long double>(each.batch));
    long double error = 0;
    const auto n = static_cast<size_t>(each.n);
    for (size_t j : {size_t{0}, size_t{1}, size_t{2}, size_t{1023}, n / 3, n / 2, n - 1}) {
      const size_t row = static_cast<size_t>(each.batch) - 1;
      const Complex expected = point_of(x, row * n, 1, j, roots);
      const Complex there{got[2 * (row * n + j)], got[2 * (row * n + j) + 1]};
      error = std::max(error, std::abs(there - expected));
    }
    // Rounding errors are a random walk: some units of 2^-24 for each factor of two.
    CHECK(error < 6e-8L * std::log2(static_cast<long double>(n)) * norm);

    run("ifft", {output}, output);
    const std::vector<float> back = read<float>(output);
    float most = 0;
    for (size_t i = 0; i < back.size(); ++i) {
      most = std::max(most, std::abs(back[i] - static_cast<float>(input.reals[i])));
    }
    CHECK(most < 2e-5F);
  }
}

TEST_CASE("passes divide a length into factors that fit") {
  CHECK(fft_pass_lengths(1, 2048, 127, 1) == std::vector<int64_t>{1});
  CHECK(fft_pass_lengths(1024, 2048, 127, 1) == std::vector<int64_t>{1024});
  CHECK(fft_pass_lengths(1024, 2048, 127, 2) == std::vector<int64_t>{32, 32});
  CHECK(fft_pass_lengths(1 << 20, 2048, 127, 1) == std::vector<int64_t>{1024, 1024});
  CHECK(fft_pass_lengths(1009, 2048, 127, 1).empty());
  for (int64_t n = 1; n < 5000; ++n) {
    const std::vector<int64_t> lengths = fft_pass_lengths(n, 128, 127, 1);
    if (lengths.empty()) continue;
    CHECK(std::accumulate(lengths.begin(), lengths.end(), int64_t{1}, std::multiplies<>()) == n);
    CHECK(*std::max_element(lengths.begin(), lengths.end()) <= 128);
  }
  CHECK(fft_radices(1024) == std::vector<int32_t>{8, 8, 4, 4});
  CHECK(fft_radices(2) == std::vector<int32_t>{2});
  CHECK(fft_radices(60) == std::vector<int32_t>{4, 3, 5});
  for (int64_t n = 2; n < 3000; ++n) {
    const int64_t good = fft_good_length(n);
    CHECK(good >= n);
    CHECK(fft_radices(good).back() <= 8);
  }
}

TEST_CASE("the Fourier transforms say what does not fit") {
  const BufferPtr pairs = zeros(DType::f32, {4, 3, 2});
  CHECK(failure([&] {
          run("fft", {zeros(DType::f32, {4, 3})}, zeros(DType::f32, {4, 3}));
        }) ==
        "shape_mismatch: input 0 of fft has shape {4, 3}, expected at least two dimensions, the "
        "last of which is 2: real and imaginary part");
  CHECK(failure([&] {
          run("fft", {pairs}, pairs, {{"axes", int64_t{2}}});
        }) ==
        "invalid_param: axes of fft must name different axes between -2 and 1 for complex numbers "
        "of shape {4, 3}, got 2");
  CHECK(failure([&] {
          run("ifft", {pairs}, zeros(DType::f32, {3, 4, 2}));
        }) == "shape_mismatch: the output of ifft has shape {3, 4, 2}, expected {4, 3, 2}");
  CHECK(failure([&] {
          run("rfft", {zeros(DType::f32, {8})}, zeros(DType::f32, {8, 2}));
        }) == "shape_mismatch: the output of rfft has shape {8, 2}, expected {5, 2}");
  CHECK(failure([&] {
          run("rfft", {zeros(DType::f32, {3, 0})}, zeros(DType::f32, {3, 1, 2}));
        }) == "shape_mismatch: input 0 of rfft has shape {3, 0}, which is empty along axis 1");
  CHECK(failure([&] {
          run("irfft", {zeros(DType::f32, {5, 2})}, zeros(DType::f32, {5}));
        }) == "shape_mismatch: the output of irfft has shape {5}, expected {8} or {9}");
}

}  // namespace dala::test
