// The references of the filters made of a Gaussian, and what they say about calls that do not fit.
#include <doctest/doctest.h>

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
  for (const Shape& shape : picture_shapes()) {
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

const SubjectOf kBlur("blur", {blur_cases, blur, 1e-6L, 0, 1});

}  // namespace

TEST_CASE("blur says what does not fit") {
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
