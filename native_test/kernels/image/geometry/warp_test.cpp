// The reference of warp, known results, and its errors for calls that do not match.
#include <doctest/doctest.h>

#include "kernels/image/pictures.hpp"

namespace dala::test {
namespace {

using Real = long double;

std::vector<Case> warp_cases(DType dtype) {
  const std::vector<std::vector<double>> matrices{
      {1, 0, 0, 0, 1, 0},
      {0.5, 0.25, -1.25, -0.125, 0.75, 2.5},
      {-1, 0, 3, 0, -1, 2},
      {3.5, 0, -9, 0, 2.25, 0.5},
      {0.875, 0.0625, 1.5, 0.03125, 0.75, 0.25, 0.015625, 0.0078125, 1},
      {1, 0, 0, 0, 1, 0, -0.125, 0, 1},  // behind the camera from column 8 on
  };
  std::vector<Case> cases;
  for (const Shape& shape : picture_shapes()) {
    for (const auto& matrix : matrices) {
      for (const std::string border : {"zero", "edge"}) {
        const Params params{{"matrix", matrix}, {"border", border}};
        cases.push_back({{{dtype, shape}}, {dtype, shape}, params});
        Shape other = shape;
        other[0] = 6;
        other[1] = 11;
        cases.push_back({{{dtype, shape}}, {dtype, other}, params});
      }
    }
  }
  return cases;
}

Tensor warped(const Case& example, const std::vector<Tensor>& inputs) {
  const Picture from(example.inputs[0].shape);
  const Picture to(example.output.shape);
  auto matrix = std::get<std::vector<double>>(example.params.at("matrix"));
  if (matrix.size() == 6) matrix.insert(matrix.end(), {0, 0, 1});
  const bool empty = from.height * from.width == 0;
  const bool edge = std::get<std::string>(example.params.at("border")) == "edge" && !empty;
  Tensor result(example.output);
  if (result.is_real()) result.scales.assign(result.size(), 1024);
  for (int64_t y = 0; y < to.height; ++y) {
    for (int64_t x = 0; x < to.width; ++x) {
      const auto row = [&](size_t r) -> Real {
        return static_cast<Real>(matrix[r]) * static_cast<Real>(x) +
               static_cast<Real>(matrix[r + 1]) * static_cast<Real>(y) +
               static_cast<Real>(matrix[r + 2]);
      };
      const Real w = row(6);
      if (w <= 0) continue;
      const Real at_x = row(0) / w;
      const Real at_y = row(3) / w;
      const auto near_x = static_cast<int64_t>(std::floor(at_x));
      const auto near_y = static_cast<int64_t>(std::floor(at_y));
      for (int64_t c = 0; c < to.channels; ++c) {
        Real sum = 0;
        for (int64_t j = near_y; j <= near_y + 1; ++j) {
          for (int64_t i = near_x; i <= near_x + 1; ++i) {
            const bool inside = i >= 0 && j >= 0 && i < from.width && j < from.height;
            if (!inside && !edge) continue;
            const int64_t there_y = edge ? std::clamp<int64_t>(j, 0, from.height - 1) : j;
            const int64_t there_x = edge ? std::clamp<int64_t>(i, 0, from.width - 1) : i;
            sum += (1 - std::fabs(at_x - static_cast<Real>(i))) *
                   (1 - std::fabs(at_y - static_cast<Real>(j))) *
                   level(inputs[0], from.index(there_y, there_x, c));
          }
        }
        set_level(result, to.index(y, x, c), sum);
      }
    }
  }
  return result;
}

const SubjectOf kWarp("warp", {warp_cases, warped, 1e-6L, 0, 1});

}  // namespace

TEST_CASE("warp moves pixels to known places") {
  const BufferPtr in = buffer<uint8_t>({1, 2, 3, 4, 5, 6}, {2, 3});
  const auto warp = [&](const std::vector<double>& matrix, const std::string& border) {
    const BufferPtr out = zeros(DType::u8, {2, 3});
    run("warp", {in}, out, {{"matrix", matrix}, {"border", border}});
    return read<uint8_t>(out);
  };
  using Bytes = std::vector<uint8_t>;
  CHECK(warp({1, 0, 1, 0, 1, 0}, "zero") == Bytes{2, 3, 0, 5, 6, 0});
  CHECK(warp({1, 0, 1, 0, 1, 0}, "edge") == Bytes{2, 3, 3, 5, 6, 6});
  CHECK(warp({2, 0, 0, 0, 2, 0, 0, 0, 2}, "zero") == Bytes{1, 2, 3, 4, 5, 6});
  CHECK(warp({1, 0, 0, 0, 1, 0, 0, 0, -1}, "edge") == Bytes(6, 0));
}

TEST_CASE("warp says what does not fit") {
  const auto warping = [](const Shape& to, const Params& params) {
    return failure([&] {
      run("warp", {zeros(DType::u8, {4, 5, 3})}, zeros(DType::u8, to), params);
    });
  };
  CHECK(warping({4, 5, 4}, {}) ==
        "shape_mismatch: the output of warp has shape {4, 5, 4} and 4 channels, expected 3 like "
        "input 0");
  CHECK(warping({4, 5, 3}, {{"matrix", int64_t{1}}}) ==
        "invalid_param: matrix of warp must be a list of 6 or 9 numbers, got 1");
  CHECK(warping({4, 5, 3}, {{"border", std::string("mirror")}}) ==
        "invalid_param: border of warp must be zero or edge, got mirror");
}

}  // namespace dala::test
