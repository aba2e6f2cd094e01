// The references of erode and dilate, known results, and errors for calls that do not match.
#include <doctest/doctest.h>

#include "kernels/image/pictures.hpp"

namespace dala::test {
namespace {

std::vector<Case> morphology_cases(DType dtype) {
  std::vector<Case> cases;
  std::vector<Shape> shapes = picture_shapes();
  if (!quick()) shapes.insert(shapes.end(), {{70, 45, 4}, {10, 9000, 4}});
  for (const Shape& shape : shapes) {
    cases.push_back({{{dtype, shape}}, {dtype, shape}});
    for (int64_t radius : {0, 2, 7, 64}) {
      if (radius == 64 && shape[0] * shape[1] > 4000) continue;
      cases.push_back({{{dtype, shape}}, {dtype, shape}, {{"radius", radius}}});
    }
  }
  return cases;
}

// Compares all pixels of the square around each pixel that are inside the picture.
template <typename Better>
Tensor extremes(const Case& example, const std::vector<Tensor>& inputs, Better better) {
  const Picture picture(example.output.shape);
  const auto radius = static_cast<int64_t>(number_of(example.params, "radius", 1));
  Tensor result(example.output);
  for (int64_t y = 0; y < picture.height; ++y) {
    for (int64_t x = 0; x < picture.width; ++x) {
      for (int64_t c = 0; c < picture.channels; ++c) {
        long double best = level(inputs[0], picture.index(y, x, c));
        for (int64_t i = y - radius; c < 3 && i <= y + radius; ++i) {
          for (int64_t j = x - radius; j <= x + radius; ++j) {
            if (i < 0 || j < 0 || i >= picture.height || j >= picture.width) continue;
            const long double other = level(inputs[0], picture.index(i, j, c));
            if (better(other, best)) best = other;
          }
        }
        set_level(result, picture.index(y, x, c), best);
      }
    }
  }
  return result;
}

const SubjectOf kErode("erode", {morphology_cases, [](const Case& example, const auto& inputs) {
                                   return extremes(example, inputs, std::less<>());
                                 }});
const SubjectOf kDilate("dilate", {morphology_cases, [](const Case& example, const auto& inputs) {
                                     return extremes(example, inputs, std::greater<>());
                                   }});

}  // namespace

TEST_CASE("morphology gives known figures") {
  const BufferPtr in = buffer<uint8_t>({0, 0, 0, 0, 9, 0, 0, 0, 7, 7, 7, 0, 7, 7, 7}, {3, 5});
  const BufferPtr out = zeros(DType::u8, {3, 5});
  run("dilate", {in}, out);
  CHECK(read<uint8_t>(out) == std::vector<uint8_t>{0, 0, 7, 9, 9, 7, 7, 7, 9, 9, 7, 7, 7, 7, 7});
  run("erode", {in}, out);
  CHECK(read<uint8_t>(out) == std::vector<uint8_t>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7});
}

TEST_CASE("morphology says what does not fit") {
  const auto eroding = [](const Shape& to, const Params& params) {
    return failure([&] {
      run("erode", {zeros(DType::u8, {4, 5, 3})}, zeros(DType::u8, to), params);
    });
  };
  CHECK(eroding({4, 5, 4}, {}) ==
        "shape_mismatch: the output of erode has shape {4, 5, 4}, expected {4, 5, 3}");
  CHECK(eroding({4, 5, 3}, {{"radius", int64_t{65}}}) ==
        "invalid_param: radius of erode must be an integer between 0 and 64, got 65");
}

}  // namespace dala::test
