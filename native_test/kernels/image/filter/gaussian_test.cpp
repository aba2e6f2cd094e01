// Reference implementations of the Gaussian filters, and their errors for calls that do not match.
#include <doctest/doctest.h>

#include <random>

#include "kernels/image/pictures.hpp"

namespace dala::test {
namespace {

// The blur of each channel by its definition, rows first.
std::vector<long double> blurred(const Tensor& tensor, const Picture& picture, int64_t radius,
                                 double sigma) {
  std::vector<long double> weights;
  long double sum = 0;
  for (int64_t k = -radius; k <= radius; ++k) {
    const long double distance = static_cast<long double>(k) / sigma;
    weights.push_back(k == 0 ? 1 : std::exp(-distance * distance / 2));
    sum += weights.back();
  }
  std::vector<long double> rows(tensor.size());
  std::vector<long double> result(tensor.size());
  for (const bool across : {true, false}) {
    for (int64_t y = 0; y < picture.height; ++y) {
      for (int64_t x = 0; x < picture.width; ++x) {
        for (int64_t c = 0; c < picture.channels; ++c) {
          long double total = 0;
          for (int64_t k = -radius; k <= radius; ++k) {
            const long double weight = weights[static_cast<size_t>(k + radius)] / sum;
            total +=
                weight * (across ? level(tensor, picture.index(y, walk(x + k, picture.width), c))
                                 : rows[picture.index(walk(y + k, picture.height), x, c)]);
          }
          (across ? rows : result)[picture.index(y, x, c)] = total;
        }
      }
    }
  }
  return result;
}

std::vector<Case> blur_cases(DType dtype) {
  struct Setting {
    int64_t radius;
    double sigma;
  };
  std::vector<Setting> settings{{0, 1}, {1, 0.8}, {3, 1.5}, {15, 5}};
  if (!quick()) settings.insert(settings.end(), {{64, 20}, {64, 1e9}, {5, 1e-200}});
  std::vector<Case> cases;
  std::vector<Shape> shapes = picture_shapes();
  if (!quick()) shapes.push_back({3, 4500, 4});  // several tiles
  for (const Shape& shape : shapes) {
    for (const Setting& setting : settings) {
      cases.push_back({{{dtype, shape}},
                       {dtype, shape},
                       {{"radius", setting.radius}, {"sigma", setting.sigma}}});
    }
  }
  return cases;
}

Tensor blur(const Case& example, const std::vector<Tensor>& inputs) {
  const Picture picture(example.output.shape);
  const std::vector<long double> levels =
      blurred(inputs[0], picture, static_cast<int64_t>(number_of(example.params, "radius", 3)),
              number_of(example.params, "sigma", 1.5));
  Tensor result(example.output);
  if (result.is_real()) result.scales.assign(result.size(), 4);
  for (size_t i = 0; i < levels.size(); ++i) {
    const bool alpha = picture.channels == 4 && i % 4 == 3;
    set_level(result, i, alpha ? level(inputs[0], i) : levels[i]);
  }
  return result;
}

std::vector<Case> sharpen_cases(DType dtype) {
  std::vector<Case> cases;
  for (const Shape& shape : picture_shapes()) {
    for (double amount : {0.0, 0.5, 4.0}) {
      cases.push_back({{{dtype, shape}}, {dtype, shape}, {{"amount", amount}}});
    }
  }
  return cases;
}

Tensor sharpen(const Case& example, const std::vector<Tensor>& inputs) {
  const Picture picture(example.output.shape);
  const std::vector<long double> levels = blurred(inputs[0], picture, 2, 1);
  const double amount = number_of(example.params, "amount", 0.5);
  Tensor result(example.output);
  if (result.is_real()) result.scales.assign(result.size(), 4 + 8 * amount);
  for (size_t i = 0; i < levels.size(); ++i) {
    const bool alpha = picture.channels == 4 && i % 4 == 3;
    const long double before = level(inputs[0], i);
    set_level(result, i, alpha ? before : before + amount * (before - levels[i]));
  }
  return result;
}

const SubjectOf kSharpen("sharpen", {sharpen_cases, sharpen, 1e-6L, 0, 1});
const SubjectOf kBlur("blur", {blur_cases, blur, 1e-6L, 0, 1});

}  // namespace

TEST_CASE("an image of one colour does not change") {
  for (int64_t radius : {1, 3, 15, 31, 64}) {
    for (uint8_t colour : {0, 1, 127, 254, 255}) {
      const std::vector<uint8_t> grey(70 * 40, colour);
      const BufferPtr out = zeros(DType::u8, {40, 70});
      run("blur", {buffer(grey, {40, 70})}, out, {{"radius", radius}, {"sigma", 0.4 * radius}});
      CHECK(read<uint8_t>(out) == grey);
      run("sharpen", {buffer(grey, {40, 70})}, out, {{"amount", 4.0}});
      CHECK(read<uint8_t>(out) == grey);
    }
  }
}

TEST_CASE("the filters are correct at 3840 x 2160") {
  if (quick()) return;
  // Only the corners are compared, so that the reference need not compute every pixel.
  const int64_t height = 2160;
  const int64_t width = 3840;
  std::vector<uint8_t> levels;
  std::mt19937 random(5);
  for (int64_t i = 0; i < height * width * 4; ++i) levels.push_back(random() % 256);
  const BufferPtr in = buffer(levels, {height, width, 4});
  const BufferPtr out = zeros(DType::u8, {height, width, 4});
  // The corners, and the pixels up to `radius` around them.
  constexpr int64_t kCorner = 24;
  constexpr int64_t kAround = 16;
  const auto corner = [&](const std::vector<uint8_t>& from, bool bottom, bool right, int64_t size) {
    Tensor result({DType::u8, {size, size, 4}});
    for (int64_t y = 0; y < size; ++y) {
      for (int64_t x = 0; x < size * 4; ++x) {
        const int64_t row = bottom ? height - size + y : y;
        const int64_t column = (right ? (width - size) * 4 : 0) + x;
        result.integers[static_cast<size_t>(y * size * 4 + x)] =
            from[static_cast<size_t>(row * width * 4 + column)];
      }
    }
    return result;
  };
  for (const std::string kernel : {"blur", "sharpen", "denoise", "beauty", "edge_detect"}) {
    const Params params =
        kernel == "blur" ? Params{{"radius", int64_t{15}}, {"sigma", 5.0}} : Params{};
    run(kernel, {in}, out, params);
    const std::vector<uint8_t> got = read<uint8_t>(out);
    const Shape shape{kCorner + kAround, kCorner + kAround, 4};
    for (const bool bottom : {false, true}) {
      for (const bool right : {false, true}) {
        const Case example{{{DType::u8, shape}}, {DType::u8, shape}, params};
        const Tensor expected = subjects().at(kernel).expected(
            example, {corner(levels, bottom, right, kCorner + kAround)});
        const Tensor here = corner(got, bottom, right, kCorner + kAround);
        // Pixels near the cut edges differ from those of the whole image.
        for (int64_t y = 0; y < kCorner; ++y) {
          for (int64_t x = 0; x < kCorner * 4; ++x) {
            const int64_t row = bottom ? y + kAround : y;
            const int64_t column = right ? x + kAround * 4 : x;
            const auto i = static_cast<size_t>(row * shape[1] * 4 + column);
            if (std::abs(here.integers[i] - expected.integers[i]) <= 1) continue;
            FAIL(kernel, " gives ", here.integers[i], ", expected ", expected.integers[i], " at ",
                 row, ", ", column);
          }
        }
      }
    }
  }
}

TEST_CASE("blur reports mismatches of shape, element type and parameters") {
  const BufferPtr image = zeros(DType::u8, {4, 5, 3});
  const auto blurring = [](const BufferPtr& from, const BufferPtr& to, const Params& params = {}) {
    return failure([&] { run("blur", {from}, to, params); });
  };
  CHECK(blurring(image, image, {{"radius", int64_t{65}}}) ==
        "invalid_param: radius of blur must be an integer between 0 and 64, got 65");
  CHECK(blurring(image, image, {{"sigma", 0.0}}) ==
        "invalid_param: sigma of blur must be a number above 0, got 0");
  CHECK(blurring(image, image, {{"sigma", -1.0}}) ==
        "invalid_param: sigma of blur must be a number of at least 0, got -1");
  CHECK(blurring(image, zeros(DType::f32, {4, 5, 3})) ==
        "dtype_mismatch: the output of blur is f32, expected u8");
  CHECK(blurring(image, zeros(DType::u8, {5, 4, 3})) ==
        "shape_mismatch: the output of blur has shape {5, 4, 3}, expected {4, 5, 3}");
}

}  // namespace dala::test
