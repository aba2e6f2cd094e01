// Reference implementations of the kernels that combine two images, look colours up in a table, or
// draw, and their errors for calls that do not match.
#include <doctest/doctest.h>

#include <array>

#include "kernels/image/pictures.hpp"

namespace dala::test {
namespace {

using Real = long double;

Real white(const Tensor& tensor) { return tensor.is_real() ? 1 : 255; }

std::vector<Case> blend_cases(DType dtype) {
  std::vector<Shape> shapes = picture_shapes();
  if (!quick()) shapes.push_back({61, 203, 4});
  std::vector<Case> cases;
  for (const Shape& shape : shapes) {
    for (double alpha : {0.0, 0.5, 0.3, 1.0}) {
      cases.push_back({{{dtype, shape}, {dtype, shape}}, {dtype, shape}, {{"alpha", alpha}}});
    }
  }
  return cases;
}

Tensor blended(const Case& example, const std::vector<Tensor>& inputs) {
  const Real alpha = number_of(example.params, "alpha", 0.5);
  Tensor result(example.output);
  if (result.is_real()) result.scales.assign(result.size(), 8);
  for (size_t i = 0; i < result.size(); ++i) {
    set_level(result, i, (1 - alpha) * level(inputs[0], i) + alpha * level(inputs[1], i));
  }
  return result;
}

std::vector<Case> overlay_cases(DType dtype) {
  struct Layout {
    Shape base, over;
    int64_t x, y;
  };
  std::vector<Layout> layouts{{{1, 1}, {1, 1}, 0, 0},           {{5, 7}, {3, 3, 1}, 2, 1},
                              {{5, 7, 4}, {5, 7, 4}, 0, 0},     {{5, 7, 4}, {5, 7, 4}, 1, -2},
                              {{6, 40, 4}, {3, 37, 3}, -2, 4},  {{6, 40, 3}, {9, 50, 4}, -3, -1},
                              {{6, 40, 3}, {2, 20, 3}, 100, 0}, {{6, 40, 3}, {2, 20, 3}, -20, 0},
                              {{4, 4, 4}, {0, 3, 4}, 1, 1},     {{0, 3, 4}, {2, 2, 4}, 0, 0}};
  if (!quick()) layouts.push_back({{61, 203, 4}, {40, 100, 4}, 70, 9});
  std::vector<Case> cases;
  for (const Layout& layout : layouts) {
    for (double alpha : {1.0, 0.4, 0.0}) {
      cases.push_back({{{dtype, layout.base}, {dtype, layout.over}},
                       {dtype, layout.base},
                       {{"x", layout.x}, {"y", layout.y}, {"alpha", alpha}}});
    }
  }
  return cases;
}

Tensor overlaid(const Case& example, const std::vector<Tensor>& inputs) {
  const Picture base(example.inputs[0].shape);
  const Picture over(example.inputs[1].shape);
  const auto x0 = static_cast<int64_t>(number_of(example.params, "x", 0));
  const auto y0 = static_cast<int64_t>(number_of(example.params, "y", 0));
  Tensor result(example.output);
  if (result.is_real()) result.scales.assign(result.size(), 1);
  for (int64_t y = 0; y < base.height; ++y) {
    for (int64_t x = 0; x < base.width; ++x) {
      const int64_t row = y - y0;
      const int64_t column = x - x0;
      const bool seen = row >= 0 && row < over.height && column >= 0 && column < over.width;
      const Real below =
          base.channels == 4 ? level(inputs[0], base.index(y, x, 3)) / white(inputs[0]) : 1;
      const Real above =
          !seen ? 0
                : number_of(example.params, "alpha", 1) *
                      (over.channels == 4
                           ? level(inputs[1], over.index(row, column, 3)) / white(inputs[1])
                           : 1);
      const Real sum = above + below * (1 - above);
      for (int64_t c = 0; c < base.channels; ++c) {
        const size_t at = base.index(y, x, c);
        Real made = level(inputs[0], at);
        if (seen && c == 3) made = sum * white(result);
        if (seen && c < 3 && sum > 0) {
          const Real colour = level(inputs[1], over.index(row, column, c));
          made = (colour * above + made * below * (1 - above)) / sum;
          // Random alphas beyond 0 to 1 can scale a colour by any factor.
          if (result.is_real()) {
            result.scales[at] = (64 + std::fabs(above * 64)) / std::min<Real>(1, sum * sum);
          }
        }
        if (c == 3 && result.is_real()) result.scales[at] = 64;
        set_level(result, at, made);
      }
    }
  }
  return result;
}

std::vector<Case> matte_cases(DType dtype) {
  struct Layout {
    Shape picture, mask;
    Params params;
  };
  const Params letterbox{
      {"x", 0.0}, {"y", 2.5}, {"region_width", int64_t{9}}, {"region_height", 3.25}};
  std::vector<Layout> layouts{{{1, 1, 4}, {1, 1}, {}},
                              {{5, 7, 4}, {5, 7}, {}},
                              {{5, 7, 4}, {9, 9, 1}, letterbox},
                              {{6, 40, 3}, {3, 3}, {}},
                              {{3, 4}, {8, 6}, {{"x", int64_t{-2}}, {"y", int64_t{5}}}},
                              {{3, 5, 4}, {4, 4}, {{"x", int64_t{9}}, {"region_width", 0.5}}},
                              {{0, 3, 4}, {2, 2}, {}}};
  if (!quick()) layouts.push_back({{61, 203, 4}, {17, 33}, {}});
  std::vector<Case> cases;
  for (const Layout& layout : layouts) {
    cases.push_back({{{dtype, layout.picture}, {dtype, layout.picture}, {dtype, layout.mask}},
                     {dtype, layout.picture},
                     layout.params});
  }
  return cases;
}

// The mask at every pixel is the sum of its levels, weighted by their distance.
Tensor matted(const Case& example, const std::vector<Tensor>& inputs) {
  const Picture picture(example.output.shape);
  const Picture mask(example.inputs[2].shape);
  const auto place = [&](const char* corner, const char* extent, int64_t size, int64_t pixels,
                         int64_t pixel) {
    const Real start = number_of(example.params, corner, 0);
    const Real given = number_of(example.params, extent, 0);
    const Real length = given > 0 ? given : std::max<Real>(0, static_cast<Real>(size) - start);
    const Real at = start + (static_cast<Real>(pixel) + 0.5L) * length / pixels - 0.5L;
    return std::clamp<Real>(at, 0, static_cast<Real>(size - 1));
  };
  Tensor result(example.output);
  if (result.is_real()) result.scales.assign(result.size(), 256);
  for (int64_t y = 0; y < picture.height; ++y) {
    const Real row = place("y", "region_height", mask.height, picture.height, y);
    for (int64_t x = 0; x < picture.width; ++x) {
      const Real column = place("x", "region_width", mask.width, picture.width, x);
      Real share = 0;
      for (int64_t i = 0; i < mask.height; ++i) {
        for (int64_t k = 0; k < mask.width; ++k) {
          const Real down = std::max<Real>(0, 1 - std::fabs(row - static_cast<Real>(i)));
          const Real across = std::max<Real>(0, 1 - std::fabs(column - static_cast<Real>(k)));
          share += down * across * level(inputs[2], mask.index(i, k, 0)) / white(inputs[2]);
        }
      }
      for (int64_t c = 0; c < picture.channels; ++c) {
        const size_t at = picture.index(y, x, c);
        set_level(result, at, share * level(inputs[0], at) + (1 - share) * level(inputs[1], at));
      }
    }
  }
  return result;
}

std::vector<Case> lut_cases(DType dtype) {
  std::vector<Case> cases;
  const auto add = [&](const Shape& shape, const Shape& table, const Params& params = {}) {
    cases.push_back({{{dtype, shape}, {DType::f32, table}}, {dtype, shape}, params});
  };
  const Params domain{{"domain_min", std::vector<double>{-0.5, 0.1, 0}}, {"domain_max", 0.8}};
  for (const Shape& shape : {Shape{1, 1, 3}, Shape{1, 1, 4}, Shape{7, 13, 4}, Shape{9, 5, 3},
                             Shape{0, 3, 3}, Shape{3, 50, 4}}) {
    add(shape, {2, 2, 2, 3});
    add(shape, {5, 5, 5, 3}, domain);
    add(shape, {7, 3});
    add(shape, {2, 3}, domain);
  }
  if (!quick()) add({61, 203, 4}, {33, 33, 33, 3});
  return cases;
}

// The weight of an entry is the product of its weights in all interpolated directions.
Tensor looked_up(const Case& example, const std::vector<Tensor>& inputs) {
  const Picture picture(example.output.shape);
  const Shape& table = example.inputs[1].shape;
  const int64_t size = table[0];
  const auto bound = [&](const std::string& name, Real fallback, size_t c) -> Real {
    const auto found = example.params.find(name);
    if (found == example.params.end()) return fallback;
    const auto* list = std::get_if<std::vector<double>>(&found->second);
    return list != nullptr ? (*list)[c] : std::get<double>(found->second);
  };
  Tensor result(example.output);
  if (result.is_real()) result.scales.assign(result.size(), 64);
  for (int64_t pixel = 0; pixel < picture.height * picture.width; ++pixel) {
    const auto first = static_cast<size_t>(pixel * picture.channels);
    std::array<Real, 3> place{};
    for (size_t c = 0; c < 3; ++c) {
      const Real low = bound("domain_min", 0, c);
      const Real high = bound("domain_max", 1, c);
      const Real colour = level(inputs[0], first + c) / white(inputs[0]);
      place[c] = std::clamp<Real>((colour - low) / (high - low), 0, 1) * (size - 1);
    }
    const auto nearness = [&](size_t c, int64_t entry) {
      return std::max<Real>(0, 1 - std::fabs(place[c] - static_cast<Real>(entry)));
    };
    std::array<Real, 3> made{};
    const auto range = [&](size_t c) {
      const auto low = static_cast<int64_t>(place[c]);
      return std::pair{low, std::min(low + 1, size - 1)};
    };
    if (table.size() == 2) {
      for (size_t c = 0; c < 3; ++c) {
        for (int64_t i = 0; i < size; ++i) {
          made[c] += nearness(c, i) * inputs[1].reals[static_cast<size_t>(3 * i) + c];
        }
      }
    } else {
      for (int64_t b = range(2).first; b <= range(2).second; ++b) {
        for (int64_t g = range(1).first; g <= range(1).second; ++g) {
          for (int64_t r = range(0).first; r <= range(0).second; ++r) {
            const Real weight = nearness(0, r) * nearness(1, g) * nearness(2, b);
            const auto entry = static_cast<size_t>(3 * ((b * size + g) * size + r));
            for (size_t c = 0; c < 3; ++c) made[c] += weight * inputs[1].reals[entry + c];
          }
        }
      }
    }
    for (size_t c = 0; c < 3; ++c) set_level(result, first + c, made[c] * white(result));
    if (picture.channels == 4) set_level(result, first + 3, level(inputs[0], first + 3));
  }
  return result;
}

std::vector<Case> gradient_cases(DType dtype) {
  std::vector<Case> cases;
  for (const Shape& shape : {Shape{1, 1, 4}, Shape{1, 9, 4}, Shape{7, 1, 4}, Shape{5, 40, 4},
                             Shape{0, 3, 4}, Shape{100, 259, 4}}) {
    cases.push_back({{}, {dtype, shape}, {}});
  }
  return cases;
}

Tensor gradient(const Case& example, const std::vector<Tensor>&) {
  const Picture picture(example.output.shape);
  Tensor result(example.output);
  for (int64_t y = 0; y < picture.height; ++y) {
    for (int64_t x = 0; x < picture.width; ++x) {
      const Real across = static_cast<Real>(x) / std::max<int64_t>(1, picture.width - 1);
      const Real down = static_cast<Real>(y) / std::max<int64_t>(1, picture.height - 1);
      set_level(result, picture.index(y, x, 0), across * white(result));
      set_level(result, picture.index(y, x, 1), down * white(result));
      set_level(result, picture.index(y, x, 2), 128 * white(result) / 255);
      set_level(result, picture.index(y, x, 3), white(result));
    }
  }
  return result;
}

const SubjectOf kBlend("blend", {blend_cases, blended, 1e-6L, 0, 1});
const SubjectOf kOverlay("overlay", {overlay_cases, overlaid, 1e-6L, 0, 1});
const SubjectOf kMatte("matte", {matte_cases, matted, 1e-6L, 0, 1});
const SubjectOf kLut("lut", {lut_cases, looked_up, 1e-6L, 0, 1});
const SubjectOf kGradient("generate_gradient", {gradient_cases, gradient, 1e-6L, 0, 1});

std::string trying(const std::string& kernel, const std::vector<TensorType>& inputs,
                   const Params& params = {}) {
  std::vector<BufferPtr> buffers;
  for (const TensorType& type : inputs) buffers.push_back(zeros(type.dtype, type.shape));
  return failure([&] { run(kernel, buffers, zeros(DType::u8, inputs[0].shape), params); });
}

}  // namespace

TEST_CASE("an identity table changes nothing") {
  std::vector<float> table;
  for (int i = 0; i < 17 * 17 * 17; ++i) {
    for (int entry : {i % 17, i / 17 % 17, i / 17 / 17}) {
      table.push_back(static_cast<float>(entry) / 16.0F);
    }
  }
  std::vector<uint8_t> levels;
  for (int i = 0; i < 20 * 30 * 4; ++i) levels.push_back(static_cast<uint8_t>(i * 37));
  const BufferPtr image = buffer(levels, {20, 30, 4});
  run("lut", {image, buffer(table, {17, 17, 17, 3})}, image);
  CHECK(read<uint8_t>(image) == levels);
}

TEST_CASE("kernels of two images report mismatches of shape, element type and parameters") {
  const TensorType image{DType::u8, {4, 5, 3}};
  CHECK(trying("blend", {image, {DType::u8, {5, 4, 3}}}) ==
        "shape_mismatch: input 1 of blend has shape {5, 4, 3}, expected {4, 5, 3} like input 0");
  CHECK(trying("blend", {image, {DType::f32, {4, 5, 3}}}) ==
        "dtype_mismatch: input 1 of blend is f32, expected u8 like input 0");
  CHECK(trying("blend", {image, image}, {{"alpha", 1.5}}) ==
        "invalid_param: alpha of blend must be a number between 0 and 1, got 1.5");
  CHECK(trying("overlay", {image, {DType::u8, {2, 2}}}) ==
        "shape_mismatch: input 1 of overlay has 1 channels, expected 3 or 4 for an input 0 of 3");
  CHECK(trying("matte", {image, {DType::u8, {5, 4, 3}}, {DType::u8, {2, 2}}}) ==
        "shape_mismatch: input 1 of matte has shape {5, 4, 3}, expected {4, 5, 3} like input 0");
  CHECK(trying("matte", {image, image, image}) ==
        "shape_mismatch: input 2 of matte has shape {4, 5, 3}, expected {height, width} of at "
        "least one pixel");
  CHECK(trying("matte", {image, image, {DType::u8, {0, 4}}}) ==
        "shape_mismatch: input 2 of matte has shape {0, 4}, expected {height, width} of at "
        "least one pixel");
  CHECK(trying("lut", {image, {DType::u8, {2, 2, 2, 3}}}) ==
        "dtype_mismatch: input 1 of lut is u8, expected f32");
  CHECK(trying("lut", {image, {DType::f32, {2, 2, 3, 3}}}) ==
        "shape_mismatch: input 1 of lut has shape {2, 2, 3, 3}, expected {n, n, n, 3} with n from "
        "2 to 256, or {n, 3} with n from 2 to 65536");
  CHECK(trying("lut", {image, {DType::f32, {2, 3}}}, {{"domain_max", int64_t{0}}}) ==
        "invalid_param: domain_max of lut must be above domain_min, got 0 and 0");
  CHECK(trying("lut", {image, {DType::f32, {2, 3}}}, {{"domain_max", std::string("one")}}) ==
        "invalid_param: domain_max of lut must be a number between -1e+06 and 1e+06, or 3 of them, "
        "got one");
  CHECK(failure([&] {
          run("generate_gradient", {}, zeros(DType::u8, {4, 5, 3}));
        }) ==
        "shape_mismatch: the output of generate_gradient has shape {4, 5, 3} and 3 channels, "
        "expected 4");
}

}  // namespace dala::test
