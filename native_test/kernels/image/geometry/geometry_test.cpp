// Reference implementations of the kernels that move pixels, and their errors for calls that do not
// match.
#include <doctest/doctest.h>

#include <numbers>

#include "kernels/image/pictures.hpp"

namespace dala::test {
namespace {

using Real = long double;

Shape with_size(const Shape& shape, int64_t height, int64_t width) {
  return shape.size() == 3 ? Shape{height, width, shape[2]} : Shape{height, width};
}

// Each output pixel is the input pixel at the position {y, x} that `source` returns.
Tensor moved(const Case& example, const Tensor& input,
             const std::function<std::pair<int64_t, int64_t>(int64_t, int64_t)>& source) {
  const Picture from(example.inputs[0].shape);
  const Picture to(example.output.shape);
  Tensor result(example.output);
  for (int64_t y = 0; y < to.height; ++y) {
    for (int64_t x = 0; x < to.width; ++x) {
      for (int64_t c = 0; c < to.channels; ++c) {
        const auto [row, column] = source(y, x);
        set_level(result, to.index(y, x, c), level(input, from.index(row, column, c)));
      }
    }
  }
  return result;
}

std::vector<Shape> shapes() {
  std::vector<Shape> all = picture_shapes();
  if (!quick()) all.insert(all.end(), {{70, 45, 4}, {37, 50, 3}});
  return all;
}

std::vector<Case> crop_cases(DType dtype) {
  std::vector<Case> cases;
  for (const Shape& shape : shapes()) {
    cases.push_back({{{dtype, shape}}, {dtype, shape}, {}});
    if (shape[0] < 2 || shape[1] < 3) continue;
    cases.push_back({{{dtype, shape}},
                     {dtype, with_size(shape, shape[0] - 1, shape[1] - 2)},
                     {{"x", int64_t{2}}, {"y", int64_t{1}}, {"width", shape[1] - 2}}});
    cases.push_back({{{dtype, shape}}, {dtype, with_size(shape, 1, 1)}, {{"x", shape[1] - 1}}});
  }
  return cases;
}

Tensor cropped(const Case& example, const std::vector<Tensor>& inputs) {
  const auto x0 = static_cast<int64_t>(number_of(example.params, "x", 0));
  const auto y0 = static_cast<int64_t>(number_of(example.params, "y", 0));
  return moved(example, inputs[0], [=](int64_t y, int64_t x) { return std::pair{y + y0, x + x0}; });
}

std::vector<Case> flip_cases(DType dtype) {
  std::vector<Case> cases;
  for (const Shape& shape : shapes()) {
    for (const std::string direction : {"horizontal", "vertical", "both"}) {
      cases.push_back({{{dtype, shape}}, {dtype, shape}, {{"direction", direction}}});
    }
  }
  return cases;
}

Tensor flipped(const Case& example, const std::vector<Tensor>& inputs) {
  const std::string direction = std::get<std::string>(example.params.at("direction"));
  const Picture picture(example.output.shape);
  return moved(example, inputs[0], [&](int64_t y, int64_t x) {
    return std::pair{direction == "horizontal" ? y : picture.height - 1 - y,
                     direction == "vertical" ? x : picture.width - 1 - x};
  });
}

std::vector<Case> rotate_cases(DType dtype) {
  std::vector<Case> cases;
  const auto add = [&](const Shape& from, const Shape& to, double angle) {
    cases.push_back({{{dtype, from}}, {dtype, to}, {{"angle", angle}}});
  };
  for (const Shape& shape : shapes()) {
    const Shape turned = with_size(shape, shape[1], shape[0]);
    for (double angle : {0.0, 180.0, 360.0, -180.0}) add(shape, shape, angle);
    for (double angle : {90.0, 270.0, -90.0}) add(shape, turned, angle);
    for (double angle : {30.0, 200.5, -1.0}) add(shape, shape, angle);
    add(shape, with_size(shape, 5, 6), 45.0);
    add(shape, with_size(shape, 6, 3), 90.0);
  }
  return cases;
}

// The mean of the pixels around the position of each output pixel, weighted by the parts of a
// pixel's square that they cover; 0 outside.
Tensor rotated(const Case& example, const std::vector<Tensor>& inputs) {
  const Real angle = number_of(example.params, "angle", 0) * std::numbers::pi_v<Real> / 180;
  const Picture from(example.inputs[0].shape);
  const Picture to(example.output.shape);
  Tensor result(example.output);
  if (result.is_real()) result.scales.assign(result.size(), 1024);
  for (int64_t y = 0; y < to.height; ++y) {
    for (int64_t x = 0; x < to.width; ++x) {
      const Real dx = static_cast<Real>(2 * x - to.width + 1) / 2;
      const Real dy = static_cast<Real>(2 * y - to.height + 1) / 2;
      const Real at_x =
          std::cos(angle) * dx + std::sin(angle) * dy + static_cast<Real>(from.width - 1) / 2;
      const Real at_y =
          std::cos(angle) * dy - std::sin(angle) * dx + static_cast<Real>(from.height - 1) / 2;
      const auto near_x = static_cast<int64_t>(std::floor(at_x));
      const auto near_y = static_cast<int64_t>(std::floor(at_y));
      for (int64_t c = 0; c < to.channels; ++c) {
        Real sum = 0;
        for (int64_t j = std::max<int64_t>(0, near_y - 1); j < std::min(from.height, near_y + 3);
             ++j) {
          for (int64_t i = std::max<int64_t>(0, near_x - 1); i < std::min(from.width, near_x + 3);
               ++i) {
            const Real weight = std::max<Real>(0, 1 - std::fabs(at_x - static_cast<Real>(i))) *
                                std::max<Real>(0, 1 - std::fabs(at_y - static_cast<Real>(j)));
            sum += weight * level(inputs[0], from.index(j, i, c));
          }
        }
        set_level(result, to.index(y, x, c), sum + (result.is_real() ? 0 : 1e-9L));
      }
    }
  }
  return result;
}

const SubjectOf kCrop("crop", {crop_cases, cropped});
const SubjectOf kFlip("flip", {flip_cases, flipped});
const SubjectOf kRotate("rotate", {rotate_cases, rotated, 1e-6L, 0, 1});

std::string trying(const std::string& kernel, const Shape& from, const Shape& to,
                   const Params& params = {}) {
  return failure([&] { run(kernel, {zeros(DType::u8, from)}, zeros(DType::u8, to), params); });
}

}  // namespace

TEST_CASE("rotation is clockwise, and exact for multiples of 90 degrees") {
  const BufferPtr image = buffer<uint8_t>({1, 2, 3, 4, 5, 6}, {2, 3});
  const auto turned = [&](const Shape& shape, int64_t angle) {
    const BufferPtr out = zeros(DType::u8, shape);
    run("rotate", {image}, out, {{"angle", angle}});
    return read<uint8_t>(out);
  };
  using Bytes = std::vector<uint8_t>;
  CHECK(turned({3, 2}, 90) == Bytes{4, 1, 5, 2, 6, 3});
  CHECK(turned({2, 3}, 180) == Bytes{6, 5, 4, 3, 2, 1});
  CHECK(turned({3, 2}, 270) == Bytes{3, 6, 2, 5, 1, 4});
  CHECK(turned({3, 2}, -90) == turned({3, 2}, 270));
}

TEST_CASE("kernels that move pixels report mismatches of shape and parameters") {
  CHECK(trying("crop", {4, 5, 3}, {2, 3, 3}, {{"x", int64_t{3}}}) ==
        "invalid_param: crop of 3 x 2 at 3, 0 exceeds the image of 5 x 4");
  CHECK(trying("crop", {4, 5, 3}, {2, 3, 3}, {{"x", int64_t{-1}}}) ==
        "invalid_param: x of crop must be an integer between 0 and 1073741824, got -1");
  CHECK(trying("crop", {4, 5, 3}, {2, 3, 3}, {{"height", int64_t{3}}}) ==
        "shape_mismatch: the output of crop has shape {2, 3, 3}, expected the height 3");
  CHECK(trying("crop", {4, 5, 3}, {2, 3, 4}) ==
        "shape_mismatch: the output of crop has shape {2, 3, 4} and 4 channels, expected 3 like "
        "input 0");
  CHECK(trying("crop", {60}, {2, 3, 3}) ==
        "shape_mismatch: input 0 of crop has shape {60}, expected {h, w} or {h, w, c}");
  CHECK(trying("flip", {4, 5}, {4, 5}, {{"direction", std::string("diagonal")}}) ==
        "invalid_param: direction of flip must be horizontal, vertical or both, got diagonal");
  CHECK(trying("rotate", {4, 5}, {4, 5}) == "invalid_param: rotate needs the parameter angle");
  CHECK(trying("rotate", {4, 5}, {4, 5}, {{"angle", int64_t{361}}}) ==
        "invalid_param: angle of rotate must be a number between -360 and 360, got 361");
}

}  // namespace dala::test
