// The reference implementation of resize, numbers computed by hand, and errors for shapes that do
// not match.
#include <doctest/doctest.h>

#include "kernels/nn/planes.hpp"

namespace dala::test {
namespace {

struct Setting {
  std::string mode;
  bool align;
};

const Setting kSettings[] = {{"nearest", false}, {"nearest", true},  {"bilinear", false},
                             {"bilinear", true}, {"bicubic", false}, {"bicubic", true},
                             {"area", false}};

std::vector<Case> resize_cases(DType dtype) {
  std::vector<std::pair<Shape, Shape>> shapes = {
      {{1, 1}, {1, 1}},
      {{1, 1}, {3, 4}},
      {{4, 5}, {1, 1}},
      {{4, 6}, {4, 6}},
      {{3, 5}, {6, 10}},
      {{8, 8}, {4, 4}},
      {{7, 5}, {5, 9}},
      {{2, 3}, {9, 20}},
      {{5, 4, 3}, {7, 6, 3}},
      {{6, 6, 4}, {3, 9, 4}},
      {{4, 3, 1}, {2, 5, 1}},
      {{1, 2, 4, 5}, {1, 2, 8, 3}},
      {{2, 3, 5, 5}, {2, 3, 5, 5}},
      {{0, 2, 4, 4}, {0, 2, 8, 8}},
      {{3, 3, 0}, {6, 6, 0}},
  };
  const size_t small = shapes.size();
  if (!quick()) {
    shapes.push_back({{48, 64, 3}, {96, 128, 3}});
    shapes.push_back({{60, 1500}, {30, 3000}});
    shapes.push_back({{300, 300, 4}, {75, 75, 4}});
    shapes.push_back({{9, 200, 1}, {20, 333, 1}});
    shapes.push_back({{20, 20000}, {3, 2}});
  }
  if (!quick() && is_float(dtype)) {
    shapes.push_back({{1, 5, 33, 40}, {1, 5, 70, 64}});
    shapes.push_back({{300, 301}, {57, 999}});
  }
  std::vector<Case> cases;
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (const Setting& setting : kSettings) {
      // Large fractions are so close to a half that only exact arithmetic tells them apart.
      const bool fine = setting.align || setting.mode == "bicubic";
      if (i >= small && fine && !is_float(dtype)) continue;
      cases.push_back({{{dtype, shapes[i].first}},
                       {dtype, shapes[i].second},
                       {{"mode", setting.mode}, {"align_corners", setting.align}}});
    }
  }
  for (const Setting& setting : kSettings) {
    for (const Shape& plane : {Shape{4, 5, 8, 3}, Shape{5, 5, 5, 9}}) {
      cases.push_back({{{dtype, {2, plane[0], plane[1], 3}}},
                       {dtype, {2, plane[2], plane[3], 3}},
                       {{"mode", setting.mode},
                        {"align_corners", setting.align},
                        {"layout", std::string("nhwc")}}});
    }
  }
  return cases;
}

// The position of an output element among those of the input.
long double place(int64_t o, int64_t in, int64_t out, bool align) {
  if (align) return out == 1 ? 0 : static_cast<long double>(o * (in - 1)) / (out - 1);
  return (static_cast<long double>(o) + 0.5L) * in / out - 0.5L;
}

// The weight of an element at a distance.
long double weight(const std::string& mode, long double distance) {
  const long double d = std::fabs(distance);
  if (mode == "bilinear") return d < 1 ? 1 - d : 0;
  const long double a = -0.75L;
  if (d <= 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
  return d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0;
}

struct Tap {
  int64_t index;
  long double weight;
};

std::vector<Tap> taps(const std::string& mode, int64_t o, int64_t in, int64_t out, bool align) {
  const long double at = place(o, in, out, align);
  if (mode == "nearest") {
    // A tiny step up compensates for fractions that are not exact.
    const auto index = static_cast<int64_t>(std::floor(at + 0.5L + 1e-12L));
    return {{std::clamp<int64_t>(index, 0, in - 1), 1}};
  }
  std::vector<Tap> result;
  if (mode == "area") {
    // The overlap of each element with the area of the output.
    const long double from = static_cast<long double>(o) * in / out;
    const long double to = static_cast<long double>(o + 1) * in / out;
    const auto end = std::min<int64_t>(in, static_cast<int64_t>(to) + 1);
    for (auto index = static_cast<int64_t>(from); index < end; ++index) {
      const long double overlap = std::min<long double>(to, static_cast<long double>(index + 1)) -
                                  std::max<long double>(from, static_cast<long double>(index));
      if (overlap > 1e-12L) result.push_back({index, overlap / (to - from)});
    }
    return result;
  }
  const auto first = static_cast<int64_t>(std::floor(at)) - 2;
  for (int64_t index = first; index < first + 6; ++index) {
    result.push_back({std::clamp<int64_t>(index, 0, in - 1),
                      weight(mode, at - static_cast<long double>(index))});
  }
  return result;
}

Tensor resized(const Case& example, const std::vector<Tensor>& inputs) {
  const Shape& from = example.inputs[0].shape;
  const Shape& to = example.output.shape;
  const bool last = channels_last(example.params);
  const size_t axis = from.size() < 4 ? 0 : last ? 1 : 2;
  const int64_t channels = from.size() == 3 || last ? from.back() : 1;
  const std::string mode = std::get<std::string>(example.params.at("mode"));
  const bool align = std::get<bool>(example.params.at("align_corners"));
  Tensor result(example.output);
  if (result.is_real()) result.scales.resize(result.size());
  for (int64_t index = 0; index < example.output.count(); ++index) {
    const int64_t channel = index % channels;
    const int64_t x = index / channels % to[axis + 1];
    const int64_t y = index / channels / to[axis + 1] % to[axis];
    const int64_t plane = index / channels / to[axis + 1] / to[axis];
    long double sum = 0;
    long double magnitude = 0;
    for (const Tap& row : taps(mode, y, from[axis], to[axis], align)) {
      for (const Tap& column : taps(mode, x, from[axis + 1], to[axis + 1], align)) {
        const auto at = static_cast<size_t>(
            ((plane * from[axis] + row.index) * from[axis + 1] + column.index) * channels +
            channel);
        const long double element = result.is_real()
                                        ? inputs[0].reals[at]
                                        : static_cast<long double>(inputs[0].integers[at]);
        sum += row.weight * column.weight * element;
        // Weights are rounded too, so errors are measured against the elements.
        if (row.weight != 0 && column.weight != 0) magnitude += std::fabs(element);
      }
    }
    const auto place = static_cast<size_t>(index);
    if (result.is_real()) {
      result.reals[place] = sum;
      result.scales[place] = magnitude;
    } else {
      // Halves round up; the long double sum of a half may be slightly too low.
      const auto rounded = static_cast<int64_t>(std::floor(sum + 0.5L + 1e-9L));
      result.integers[place] = std::clamp<int64_t>(rounded, 0, 255);
    }
  }
  return result;
}

const SubjectOf kResize("resize", {resize_cases, resized, 1e-6L, 2e-15L, 1});

std::vector<float> resized_line(const std::vector<float>& line, int64_t width,
                                const Params& params) {
  const BufferPtr out = zeros(DType::f32, {1, width});
  run("resize", {buffer<float>(line, {1, static_cast<int64_t>(line.size())})}, out, params);
  return read<float>(out);
}

}  // namespace

TEST_CASE("resize returns known numbers") {
  const std::vector<float> line{0, 10, 20, 30};
  CHECK(resized_line(line, 8, {}) == std::vector<float>{0, 2.5, 7.5, 12.5, 17.5, 22.5, 27.5, 30});
  CHECK(resized_line(line, 7, {{"align_corners", true}}) ==
        std::vector<float>{0, 5, 10, 15, 20, 25, 30});
  CHECK(resized_line(line, 2, {{"mode", std::string("nearest")}}) == std::vector<float>{10, 30});
  CHECK(resized_line(line, 8, {{"mode", std::string("nearest")}}) ==
        std::vector<float>{0, 0, 10, 10, 20, 20, 30, 30});
  CHECK(resized_line(line, 2, {{"mode", std::string("area")}}) == std::vector<float>{5, 25});
  CHECK(resized_line({3, 6, 9}, 2, {{"mode", std::string("area")}}) == std::vector<float>{4, 8});
  // Halfway between the middle two, weights are -3/32, 19/32, 19/32 and -3/32.
  CHECK(resized_line({0, 32, 32, 0}, 1, {{"mode", std::string("bicubic")}}) ==
        std::vector<float>{38});
}

TEST_CASE("bytes saturate where bicubic overshoots") {
  const BufferPtr out = zeros(DType::u8, {1, 16});
  run("resize", {buffer<uint8_t>({0, 0, 255, 255}, {1, 4})}, out,
      {{"mode", std::string("bicubic")}});
  const std::vector<uint8_t> got = read<uint8_t>(out);
  CHECK(got.front() == 0);
  CHECK(got[5] == 0);
  CHECK(got[10] == 255);
  CHECK(got.back() == 255);
}

TEST_CASE("resize reports mismatches of shape, element type and parameters") {
  const BufferPtr image = zeros(DType::u8, {4, 4, 3});
  CHECK(failure([&] {
          run("resize", {image}, zeros(DType::u8, {8, 8, 4}));
        }) ==
        "shape_mismatch: the output of resize has shape {8, 8, 4}, expected {h, w, 3} of any "
        "height and width");
  CHECK(failure([&] {
          run("resize", {image}, zeros(DType::u8, {8, 8}));
        }) ==
        "shape_mismatch: the output of resize has shape {8, 8}, expected {h, w, 3} of any height "
        "and width");
  CHECK(failure([&] {
          run("resize", {zeros(DType::f32, {1, 2, 4, 4})}, zeros(DType::f32, {1, 3, 8, 8}));
        }) ==
        "shape_mismatch: the output of resize has shape {1, 3, 8, 8}, expected {1, 2, h, w} of any "
        "height and width");
  CHECK(failure([&] {
          run("resize", {zeros(DType::f32, {1, 4, 4, 2})}, zeros(DType::f32, {1, 8, 8, 3}),
              {{"layout", std::string("nhwc")}});
        }) ==
        "shape_mismatch: the output of resize has shape {1, 8, 8, 3}, expected {1, h, w, 2} of any "
        "height and width");
  CHECK(failure([&] { run("resize", {zeros(DType::u8, {9})}, zeros(DType::u8, {3})); }) ==
        "shape_mismatch: input 0 of resize has shape {9}, expected {n, c, h, w}, {h, w, c} or "
        "{h, w}");
  CHECK(failure([&] {
          run("resize", {zeros(DType::u8, {0, 4})}, zeros(DType::u8, {3, 3}));
        }) ==
        "shape_mismatch: input 0 of resize has shape {0, 4} and the output {3, 3}, expected rows "
        "and columns of 1 to 1073741824 elements");
  CHECK(failure([&] {
          run("resize", {image}, zeros(DType::f32, {8, 8, 3}));
        }) == "dtype_mismatch: the output of resize is f32, expected u8");
  CHECK(failure([&] {
          run("resize", {zeros(DType::s32, {4, 4})}, zeros(DType::s32, {8, 8}));
        }) == "dtype_mismatch: input 0 of resize is s32, expected f32, f64, u8, f16 or bf16");
  CHECK(failure([&] {
          run("resize", {image}, zeros(DType::u8, {8, 8, 3}),
              {{"mode", std::string("area")}, {"align_corners", true}});
        }) == "invalid_param: align_corners of resize must be false with mode area");
  CHECK(failure([&] {
          run("resize", {image}, zeros(DType::u8, {8, 8, 3}), {{"mode", std::string("cubic")}});
        }) ==
        "invalid_param: mode of resize must be nearest, bilinear, bicubic or area, got cubic");
}

}  // namespace dala::test
