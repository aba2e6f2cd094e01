// Reference implementations of denoise and beauty by their definition, and their errors for images
// that do not match.
#include <doctest/doctest.h>

#include "kernels/image/pictures.hpp"

namespace dala::test {
namespace {

struct Filter {
  int64_t radius;
  long double space_sigma;
  long double range_sigma;  // in elements
};

// The bilateral mean of one channel at a pixel.
long double smooth(const Tensor& tensor, const Picture& picture, const Filter& filter, int64_t y,
                   int64_t x, int64_t channel) {
  long double sum = 0;
  long double weights = 0;
  for (int64_t dy = -filter.radius; dy <= filter.radius; ++dy) {
    for (int64_t dx = -filter.radius; dx <= filter.radius; ++dx) {
      const long double distance = std::hypot(static_cast<double>(dy), static_cast<double>(dx));
      if (distance > static_cast<long double>(filter.radius)) continue;
      const int64_t row = walk(y + dy, picture.height);
      const int64_t column = walk(x + dx, picture.width);
      long double difference = 0;
      for (int64_t c = 0; c < picture.colours(); ++c) {
        difference += std::fabs(level(tensor, picture.index(row, column, c)) -
                                level(tensor, picture.index(y, x, c)));
      }
      const long double a = distance / filter.space_sigma;
      const long double b = difference / filter.range_sigma;
      const long double weight = std::exp(-(a * a + b * b) / 2);
      weights += weight;
      sum += weight * level(tensor, picture.index(row, column, channel));
    }
  }
  return sum / weights;
}

std::vector<Case> cases_of(DType dtype, bool colours_only, const std::vector<double>& strengths) {
  std::vector<Case> cases;
  std::vector<Shape> shapes = picture_shapes();
  if (!quick()) shapes.push_back({9, 500, 3});
  for (const Shape& shape : shapes) {
    if (colours_only && (shape.size() < 3 || shape[2] < 3)) continue;
    for (double strength : strengths) {
      cases.push_back({{{dtype, shape}}, {dtype, shape}, {{"strength", strength}}});
    }
  }
  return cases;
}

// Computes every element by `of`, except alpha.
Tensor filtered(const Case& example, const Tensor& input,
                const std::function<long double(int64_t, int64_t, int64_t)>& of) {
  const Picture picture(example.output.shape);
  Tensor result(example.output);
  if (result.is_real()) result.scales.assign(result.size(), 4);
  for (int64_t y = 0; y < picture.height; ++y) {
    for (int64_t x = 0; x < picture.width; ++x) {
      for (int64_t c = 0; c < picture.channels; ++c) {
        const size_t index = picture.index(y, x, c);
        set_level(result, index, c == 3 ? level(input, index) : of(y, x, c));
      }
    }
  }
  return result;
}

Tensor denoise(const Case& example, const std::vector<Tensor>& inputs) {
  const Picture picture(example.output.shape);
  const long double white = inputs[0].is_real() ? 1 : 255;
  const double strength = number_of(example.params, "strength", 0.5);
  const Filter filter{2, 2, 0.2L * strength * white};
  return filtered(example, inputs[0], [&](int64_t y, int64_t x, int64_t c) {
    if (strength == 0) return level(inputs[0], picture.index(y, x, c));
    return smooth(inputs[0], picture, filter, y, x, c);
  });
}

// 1 well inside the bounds, 0 well outside, linear within 4 of them.
long double between(long double value, long double low, long double high) {
  const long double inside = std::min(value - low, high - value);
  return inside <= -4 ? 0 : inside >= 4 ? 1 : (inside + 4) / 8;
}

Tensor beauty(const Case& example, const std::vector<Tensor>& inputs) {
  const Picture picture(example.output.shape);
  const long double white = inputs[0].is_real() ? 1 : 255;
  const long double strength = number_of(example.params, "strength", 0.3);
  const Filter filter{4, 3, 0.1L * white};
  return filtered(example, inputs[0], [&](int64_t y, int64_t x, int64_t c) {
    const auto at = [&](int64_t channel) {
      return level(inputs[0], picture.index(y, x, channel)) / white * 255;
    };
    const long double cb = 128 - 0.168736L * at(0) - 0.331264L * at(1) + 0.5L * at(2);
    const long double cr = 128 + 0.5L * at(0) - 0.418688L * at(1) - 0.081312L * at(2);
    const long double likeness = between(cb, 77, 127) * between(cr, 133, 173);
    const long double before = level(inputs[0], picture.index(y, x, c));
    return before + strength * likeness * (smooth(inputs[0], picture, filter, y, x, c) - before);
  });
}

const SubjectOf kDenoise("denoise", {[](DType dtype) {
                                       return cases_of(dtype, false, {0, 1e-9, 0.5, 1});
                                     },
                                     denoise, 1e-5L, 0, 1});
const SubjectOf kBeauty("beauty", {[](DType dtype) {
                                     return cases_of(dtype, true, {0, 0.3, 1});
                                   },
                                   beauty, 1e-5L, 0, 1});

}  // namespace

TEST_CASE("beauty smooths skin and keeps the rest") {
  // Columns of two levels, once in the colour of skin and once in blue.
  std::vector<uint8_t> skin;
  std::vector<uint8_t> blue;
  for (int i = 0; i < 12 * 12; ++i) {
    const auto more = static_cast<uint8_t>(i % 2 * 10);
    skin.insert(skin.end(), {static_cast<uint8_t>(210 + more), static_cast<uint8_t>(160 + more),
                             static_cast<uint8_t>(130 + more), 200});
    blue.insert(blue.end(), {static_cast<uint8_t>(40 + more), static_cast<uint8_t>(60 + more),
                             static_cast<uint8_t>(200 + more), 200});
  }
  const BufferPtr out = zeros(DType::u8, {12, 12, 4});
  run("beauty", {buffer(blue, {12, 12, 4})}, out, {{"strength", 1.0}});
  CHECK(read<uint8_t>(out) == blue);
  run("beauty", {buffer(skin, {12, 12, 4})}, out, {{"strength", 1.0}});
  const std::vector<uint8_t> got = read<uint8_t>(out);
  for (size_t i = 0; i + 4 < got.size(); i += 4) CHECK(std::abs(got[i] - got[i + 4]) <= 5);
}

TEST_CASE("denoise and beauty report mismatches of shape and parameters") {
  CHECK(failure([] {
          run("beauty", {zeros(DType::u8, {4, 5})}, zeros(DType::u8, {4, 5}));
        }) ==
        "shape_mismatch: input 0 of beauty has shape {4, 5}, expected 3 or 4 channels, since skin "
        "is detected by its colour");
  for (const std::string kernel : {"denoise", "beauty"}) {
    const BufferPtr image = zeros(DType::u8, {4, 5, 3});
    CHECK(failure([&] {
            run(kernel, {image}, image, {{"strength", 1.5}});
          }) == text("invalid_param: strength of ", kernel,
                     " must be a number between 0 and 1, got 1.5"));
  }
}

}  // namespace dala::test
