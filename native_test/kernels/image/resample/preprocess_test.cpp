// The reference implementation of preprocess, numbers computed by hand, and its errors for calls
// that do not match.
#include <doctest/doctest.h>

#include <array>

#include "kernels/image/pictures.hpp"

namespace dala::test {
namespace {

using Real = long double;

std::string text_of(const Params& params, const std::string& name, const std::string& fallback) {
  const auto found = params.find(name);
  return found == params.end() ? fallback : to_string(found->second);
}

// A range of an axis of the image, and the range of outputs that it is mapped to.
struct Axis {
  Real from = 0;
  Real length = 0;
  int64_t to = 0;
  int64_t count = 0;

  // The weight of element i for the output at o.
  Real weight(int64_t i, int64_t o) const {
    const Real scale = length / static_cast<Real>(count);
    const auto place = static_cast<Real>(o - to);
    if (scale >= 1) {
      const Real begin = std::max<Real>(from + place * scale, static_cast<Real>(i));
      const Real end = std::min<Real>(from + (place + 1) * scale, static_cast<Real>(i) + 1);
      return std::max<Real>(0, end - begin) / scale;
    }
    const Real centre =
        std::clamp<Real>(from + (place + 0.5L) * scale - 0.5L, from, from + length - 1);
    return std::max<Real>(0, 1 - std::fabs(centre - static_cast<Real>(i)));
  }
};

Axis whole(int64_t in, int64_t out) { return {0, static_cast<Real>(in), 0, out}; }

// The axis cropped to `length` in the middle, or centred in fewer outputs.
Axis cut(int64_t in, int64_t out, Real length) {
  const Real kept = std::max<Real>(1, std::floor(length + 0.5L));
  return {std::floor((static_cast<Real>(in) - kept) / 2), kept, 0, out};
}
Axis boxed(int64_t in, int64_t out, Real count) {
  const auto shown = std::max<int64_t>(1, static_cast<int64_t>(std::floor(count + 0.5L)));
  return {0, static_cast<Real>(in), (out - shown) / 2, shown};
}

Tensor preprocessed(const Case& example, const std::vector<Tensor>& inputs) {
  const Picture from(example.inputs[0].shape);
  const bool planes = text_of(example.params, "layout", "nchw") == "nchw";
  Shape shape = example.output.shape;
  if (shape.size() == 4) shape.erase(shape.begin());
  const int64_t height = shape[planes ? 1 : 0];
  const int64_t width = shape[planes ? 2 : 1];

  Axis down = whole(from.height, height);
  Axis across = whole(from.width, width);
  const std::string fit = text_of(example.params, "fit", "stretch");
  const Real x_scale = static_cast<Real>(width) / static_cast<Real>(from.width);
  const Real y_scale = static_cast<Real>(height) / static_cast<Real>(from.height);
  if (fit == "letterbox" && x_scale < y_scale) {
    down = boxed(from.height, height, static_cast<Real>(from.height) * x_scale);
  } else if (fit == "letterbox") {
    across = boxed(from.width, width, static_cast<Real>(from.width) * y_scale);
  } else if (fit == "crop" && x_scale < y_scale) {
    across = cut(from.width, width, static_cast<Real>(width) / y_scale);
  } else if (fit == "crop") {
    down = cut(from.height, height, static_cast<Real>(height) / x_scale);
  }

  std::array<Real, 3> mean{0.485L, 0.456L, 0.406L};
  std::array<Real, 3> deviation{0.229L, 0.224L, 0.225L};
  const std::string preset = text_of(example.params, "normalize", "imagenet");
  if (preset == "unit" || preset == "raw" || preset == "false") mean = {0, 0, 0};
  if (preset == "unit") deviation = {1, 1, 1};
  if (preset == "signed_unit") mean = deviation = {0.5L, 0.5L, 0.5L};
  if (preset == "raw" || preset == "false") deviation.fill(1 / 255.0L);
  if (example.params.count("std") != 0) {
    mean = {0.1L, 0.2L, 0.3L};
    deviation = {0.5L, 2, 4};
  }
  const Real top = example.inputs[0].dtype == DType::u8 ? 255 : 1;
  const Real border = number_of(example.params, "border", 114) / 255.0L;

  Tensor result(example.output);
  result.scales.resize(result.reals.size());
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < 3; ++c) {
        Real sum = 0;
        Real size = 1;
        const bool shown = y >= down.to && y < down.to + down.count && x >= across.to &&
                           x < across.to + across.count;
        if (!shown) sum = border;
        for (int64_t i = 0; shown && i < from.height; ++i) {
          const Real row = down.weight(i, y);
          for (int64_t j = 0; row > 0 && j < from.width; ++j) {
            const int64_t channel = from.channels == 1 ? 0 : c;
            const Real part =
                row * across.weight(j, x) * level(inputs[0], from.index(i, j, channel)) / top;
            sum += part;
            size += std::fabs(part);
          }
        }
        const auto k = static_cast<size_t>(c);
        const int64_t place = planes ? (c * height + y) * width + x : (y * width + x) * 3 + c;
        result.reals[static_cast<size_t>(place)] = (sum - mean[k]) / deviation[k];
        result.scales[static_cast<size_t>(place)] = (size + std::fabs(mean[k])) / deviation[k];
      }
    }
  }
  return result;
}

std::vector<Case> preprocess_cases(DType dtype) {
  std::vector<std::pair<Shape, std::pair<int64_t, int64_t>>> sizes{
      {{1, 1, 4}, {1, 1}}, {{1, 1, 3}, {3, 4}},   {{9, 6, 4}, {4, 4}},   {{6, 9, 3}, {4, 4}},
      {{5, 7}, {7, 5}},    {{3, 40, 4}, {8, 8}},  {{7, 5, 3}, {16, 20}}, {{20, 3, 1}, {5, 9}},
      {{4, 4, 4}, {4, 4}}, {{2, 31, 3}, {30, 2}}, {{8, 8, 4}, {16, 4}},  {{1, 30}, {6, 6}},
  };
  if (!quick()) {
    sizes.push_back({{67, 131, 4}, {32, 48}});
    sizes.push_back({{45, 30, 3}, {64, 64}});
    sizes.push_back({{2, 5000, 4}, {3, 2}});   // several tiles across
    sizes.push_back({{3, 20000, 3}, {2, 1}});  // wider than a line
  }
  std::vector<Case> cases;
  for (const auto& [shape, size] : sizes) {
    const Shape planes{1, 3, size.first, size.second};
    const Shape pixels{1, size.first, size.second, 3};
    for (const std::string fit : {"stretch", "letterbox", "crop"}) {
      cases.push_back({{{dtype, shape}}, {DType::f32, planes}, {{"fit", fit}}});
      cases.push_back({{{dtype, shape}},
                       {DType::f32, pixels},
                       {{"fit", fit}, {"layout", "nhwc"}, {"normalize", "unit"}, {"border", 0.0}}});
    }
  }
  const TensorType picture{dtype, {6, 9, 4}};
  const Shape planes{3, 4, 5};
  for (const std::string preset : {"imagenet", "unit", "signed_unit", "raw"}) {
    cases.push_back({{picture}, {DType::f32, planes}, {{"normalize", preset}}});
  }
  cases.push_back({{picture},
                   {DType::f32, planes},
                   {{"normalize", true}, {"size", std::vector<double>{5, 4}}}});
  cases.push_back({{picture}, {DType::f32, planes}, {{"normalize", false}}});
  cases.push_back({{picture},
                   {DType::f32, planes},
                   {{"mean", std::vector<double>{0.1, 0.2, 0.3}},
                    {"std", std::vector<double>{0.5, 2, 4}},
                    {"fit", "letterbox"},
                    {"border", 200.0}}});
  // The output may be the input.
  cases.push_back({{{dtype, {4, 5, 3}}}, {DType::f32, {4, 5, 3}}, {{"layout", "nhwc"}}});
  return cases;
}

const SubjectOf kPreprocess("preprocess", {preprocess_cases, preprocessed, 5e-6L, 0});

}  // namespace

TEST_CASE("preprocess returns numbers computed by hand") {
  // Red 10, 30 over 50, 70: the mean is 40. Grey of 102 is 0.4.
  const auto picture = buffer<uint8_t>({10, 0, 0, 30, 0, 0, 50, 0, 0, 70, 0, 0}, {2, 2, 3});
  const auto out = zeros(DType::f32, {1, 3, 1, 1});
  run("preprocess", {picture}, out, {{"normalize", "raw"}});
  CHECK(read<float>(out)[0] == doctest::Approx(40));

  const auto grey = buffer<uint8_t>({102, 102}, {1, 2});
  const auto boxed = zeros(DType::f32, {3, 4, 2});
  run("preprocess", {grey}, boxed, {{"normalize", "unit"}, {"fit", "letterbox"}, {"border", 51.0}});
  const std::vector<float> got = read<float>(boxed);
  for (size_t i = 0; i < 8; ++i) CHECK(got[i] == doctest::Approx(i / 2 == 1 ? 0.4 : 0.2));
}

TEST_CASE("preprocess takes the size of a flat buffer as parameters") {
  const auto flat = buffer<uint8_t>({1, 2, 3, 255, 5, 6, 7, 255});
  const auto out = zeros(DType::f32, {1, 1, 2, 3});
  run("preprocess", {flat}, out,
      {{"width", int64_t{2}}, {"height", int64_t{1}}, {"layout", "nhwc"}, {"normalize", "raw"}});
  CHECK(read<float>(out) == std::vector<float>{1, 2, 3, 5, 6, 7});
}

TEST_CASE("preprocess writes one image of several") {
  const auto picture = buffer<uint8_t>({10, 20, 30}, {1, 1, 3});
  for (const std::string layout : {"nchw", "nhwc"}) {
    const auto out = layout == "nchw" ? buffer<float>({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3, 1, 1})
                                      : buffer<float>({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 1, 1, 3});
    run("preprocess", {picture}, out,
        {{"index", int64_t{1}}, {"layout", layout}, {"normalize", "raw"}});
    CHECK(read<float>(out) == std::vector<float>{1, 2, 3, 10, 20, 30, 7, 8, 9});
  }
}

TEST_CASE("preprocess reports mismatches of shape, element type and parameters") {
  const auto picture = zeros(DType::u8, {4, 6, 4});
  const auto good = zeros(DType::f32, {1, 3, 8, 8});
  const auto said = [&](const BufferPtr& in, const BufferPtr& out, const Params& params) {
    return failure([&] { run("preprocess", {in}, out, params); });
  };
  CHECK(said(picture, zeros(DType::f32, {1, 8, 8, 3}), {}) ==
        "shape_mismatch: the output of preprocess has shape {1, 8, 8, 3}, expected {n, 3, h, w} "
        "for the layout nchw");
  CHECK(said(picture, good, {{"layout", "nhwc"}}) ==
        "shape_mismatch: the output of preprocess has shape {1, 3, 8, 8}, expected {n, h, w, 3} "
        "for the layout nhwc");
  CHECK(said(picture, zeros(DType::f32, {0, 3, 8, 8}), {}) ==
        "shape_mismatch: the output of preprocess has shape {0, 3, 8, 8}, expected {n, 3, h, w} "
        "for the layout nchw");
  CHECK(said(picture, zeros(DType::f32, {2, 3, 8, 8}), {{"index", int64_t{2}}}) ==
        "invalid_param: index of preprocess is 2, the output has shape {2, 3, 8, 8}");
  CHECK(said(picture, good, {{"size", std::vector<double>{8, 9}}}) ==
        "shape_mismatch: the output of preprocess has shape {1, 3, 8, 8}, expected the size 8 x 9");
  CHECK(said(zeros(DType::u8, {0, 6, 4}), good, {}) ==
        "shape_mismatch: input 0 of preprocess has shape {0, 6, 4}, expected at least one pixel");
  CHECK(said(picture, zeros(DType::f64, {1, 3, 8, 8}), {}) ==
        "dtype_mismatch: the output of preprocess is f64, expected f32");
  CHECK(said(picture, good, {{"normalize", "caffe"}}) ==
        "invalid_param: normalize of preprocess must be imagenet, unit, signed_unit, raw, true or "
        "false, got caffe");
  CHECK(said(picture, good, {{"std", 0.0}}) ==
        "invalid_param: std of preprocess must be a number between 1e-06 and 1000, or 3 of them, "
        "got 0");
}

}  // namespace dala::test
