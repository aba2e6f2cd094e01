// Reference implementations of the drawing kernels: coverage is tested for each pixel by itself,
// and colours are mixed in floating point.
#include <doctest/doctest.h>

#include <cmath>

#include "support/subject.hpp"

namespace dala::test {
namespace {

constexpr int64_t kBefore = 0x5a;  // the value of output bytes before a case runs

Case drawing(const Shape& shape, const std::vector<std::pair<std::string, int64_t>>& integers,
             const std::vector<double>& color) {
  Case example{{}, {DType::u8, shape}};
  for (const auto& [name, number] : integers) example.params[name] = number;
  example.params["color"] = std::move(color);
  return example;
}

int64_t integer(const Case& example, const std::string& name) {
  return std::get<int64_t>(example.params.at(name));
}

std::vector<double> color_of(const Case& example) {
  std::vector<double> color = std::get<std::vector<double>>(example.params.at("color"));
  if (color.size() == 3) color.push_back(255);
  return color;
}

// Draws the pixels for which `inside` is true.
template <typename Inside>
Tensor drawn(const Case& example, bool blend, Inside inside) {
  Tensor result(example.output);
  std::fill(result.integers.begin(), result.integers.end(), kBefore);
  const std::vector<double> color = color_of(example);
  const double a = color[3] / 255;
  const double b = kBefore / 255.0 * (1 - a);
  for (int64_t y = 0; y < example.output.shape[0]; ++y) {
    for (int64_t x = 0; x < example.output.shape[1]; ++x) {
      if (!inside(x, y)) continue;
      for (size_t c = 0; c < 4; ++c) {
        double mixed = color[c];
        if (blend) mixed = c == 3 ? 255 * (a + b) : (color[c] * a + kBefore * b) / (a + b);
        const auto at = static_cast<size_t>((y * example.output.shape[1] + x) * 4) + c;
        result.integers[at] = std::llround(mixed);
      }
    }
  }
  return result;
}

std::vector<Case> rectangles(DType) {
  const auto rectangle = [](const Shape& shape, const std::vector<int64_t>& r,
                            const std::vector<double>& color) {
    return drawing(shape, {{"x", r[0]}, {"y", r[1]}, {"width", r[2]}, {"height", r[3]}}, color);
  };
  std::vector<Case> cases{
      rectangle({0, 5, 4}, {0, 0, 1, 1}, {1, 2, 3}),
      rectangle({1, 1, 4}, {0, 0, 1, 1}, {1, 2, 3}),
      rectangle({5, 7, 4}, {2, 1, 3, 2}, {10, 20, 30, 40}),
      rectangle({5, 7, 4}, {2, 1, 0, 2}, {10, 20, 30}),
      rectangle({5, 7, 4}, {-2, -3, 5, 5}, {255, 0, 255, 128}),
      rectangle({5, 7, 4}, {5, 3, 100, 100}, {255, 255, 255, 1}),
      rectangle({5, 7, 4}, {7, 0, 3, 3}, {1, 2, 3}),
      rectangle({5, 7, 4}, {-1000000000, -1000000000, 1000000000, 1000000000}, {1, 2, 3}),
      rectangle({5, 7, 4}, {-5, -5, 1000000000, 1000000000}, {9, 8, 7, 0}),
      rectangle({70, 130, 4}, {1, 1, 129, 68}, {200, 100, 50, 254}),
      rectangle({70, 130, 4}, {0, 0, 130, 70}, {200, 100, 50}),
  };
  Case replaced = rectangle({9, 9, 4}, {1, 1, 20, 3}, {1, 2, 3, 0});
  replaced.params["blend"] = false;
  cases.push_back(replaced);
  return cases;
}

const SubjectOf kFillRect("fill_rect",
                          {rectangles, [](const Case& example, const std::vector<Tensor>&) {
                             const int64_t left = integer(example, "x");
                             const int64_t top = integer(example, "y");
                             const int64_t right = left + integer(example, "width");
                             const int64_t bottom = top + integer(example, "height");
                             return drawn(example, example.params.count("blend") == 0,
                                          [=](int64_t x, int64_t y) {
                                            return x >= left && x < right && y >= top && y < bottom;
                                          });
                           }});

std::vector<Case> lines(DType) {
  std::vector<Case> cases;
  const auto add = [&](const Shape& shape, const std::vector<int64_t>& r,
                       const std::vector<double>& color) {
    cases.push_back(
        drawing(shape, {{"x0", r[0]}, {"y0", r[1]}, {"x1", r[2]}, {"y1", r[3]}}, color));
  };
  add({0, 3, 4}, {0, 0, 2, 2}, {1, 2, 3});
  add({1, 1, 4}, {0, 0, 0, 0}, {1, 2, 3});
  // To points around, within and beyond the image.
  for (int64_t x : {-20, 0, 9, 40}) {
    for (int64_t y : {-30, 0, 6, 50}) {
      add({7, 10, 4}, {4, 3, x, y}, {10, 200, 30, 77});
      add({7, 10, 4}, {x, y, 4, 3}, {10, 200, 30, 77});
    }
  }
  add({7, 10, 4}, {-1000000000, -1000000000, 1000000000, 1000000000}, {5, 6, 7});
  add({7, 10, 4}, {1000000000, -1000000000, -1000000000, 999999990}, {5, 6, 7});
  add({7, 10, 4}, {-1000000000, 3, 1000000000, 5}, {5, 6, 7});
  add({7, 10, 4}, {20, 0, 20, 6}, {5, 6, 7});
  add({90, 300, 4}, {299, 1, 0, 88}, {5, 6, 7, 128});
  add({300, 20, 4}, {3, 299, 17, 0}, {5, 6, 7, 128});
  return cases;
}

// A pixel is on the line if the line, at the pixel's position along its longer axis, rounds to the
// pixel; halves round up.
const SubjectOf kDrawLine("draw_line",
                          {lines, [](const Case& example, const std::vector<Tensor>&) {
                             const auto x0 = static_cast<__int128>(integer(example, "x0"));
                             const auto y0 = static_cast<__int128>(integer(example, "y0"));
                             const __int128 dx = integer(example, "x1") - x0;
                             const __int128 dy = integer(example, "y1") - y0;
                             const auto magnitude = [](__int128 d) { return d < 0 ? -d : d; };
                             const bool wide = magnitude(dx) >= magnitude(dy);
                             const __int128 run = wide ? dx : dy;
                             const __int128 rise = wide ? dy : dx;
                             return drawn(example, true, [=](int64_t x, int64_t y) {
                               const __int128 along = wide ? x - x0 : y - y0;
                               const __int128 across = wide ? y - y0 : x - x0;
                               if (run == 0) return along == 0 && across == 0;
                               if (along * run < 0 || magnitude(along) > magnitude(run))
                                 return false;
                               // across - 1/2 <= along * rise / run < across + 1/2
                               const __int128 sign = run < 0 ? -1 : 1;
                               const __int128 exact = 2 * along * rise * sign;
                               const __int128 size = magnitude(run);
                               return (2 * across - 1) * size <= exact &&
                                      exact < (2 * across + 1) * size;
                             });
                           }});

std::vector<Case> circles(DType) {
  std::vector<Case> cases;
  const auto add = [&](const Shape& shape, const std::vector<int64_t>& r,
                       const std::vector<double>& color) {
    cases.push_back(drawing(shape, {{"x", r[0]}, {"y", r[1]}, {"radius", r[2]}}, color));
    for (int64_t thickness : {1, 3, 50}) {
      cases.push_back(drawing(
          shape, {{"x", r[0]}, {"y", r[1]}, {"radius", r[2]}, {"thickness", thickness}}, color));
    }
  };
  add({0, 3, 4}, {0, 0, 2}, {1, 2, 3});
  add({1, 1, 4}, {0, 0, 0}, {1, 2, 3});
  add({9, 11, 4}, {5, 4, 3}, {10, 200, 30, 77});
  add({9, 11, 4}, {-2, 9, 6}, {10, 200, 30});
  add({9, 11, 4}, {40, 4, 3}, {10, 200, 30});
  add({9, 11, 4}, {1000000000, 4, 999999995}, {5, 6, 7});
  add({70, 130, 4}, {60, 30, 50}, {5, 6, 7, 128});
  return cases;
}

// A pixel is part of the circle by its distance from the centre.
const SubjectOf kDrawCircle("draw_circle",
                            {circles, [](const Case& example, const std::vector<Tensor>&) {
                               const int64_t radius = integer(example, "radius");
                               const bool ring = example.params.count("thickness") != 0;
                               const int64_t hole =
                                   ring ? radius - integer(example, "thickness") : -1;
                               return drawn(example, true, [=](int64_t x, int64_t y) {
                                 const long double distance = std::hypot(
                                     static_cast<long double>(x - integer(example, "x")),
                                     static_cast<long double>(y - integer(example, "y")));
                                 return distance < radius + 0.5L &&
                                        (hole < 0 || distance > hole + 0.5L);
                               });
                             }});

const SubjectOf kFlatten(
    "flatten",
    {[](DType) {
       std::vector<Case> cases;
       for (const auto& [height, width] : {std::pair{0, 3}, {1, 1}, {3, 5}, {70, 129}}) {
         cases.push_back({{{DType::u8, {height, width, 4}}}, {DType::u8, {height, width, 3}}});
       }
       cases[3].params["background"] = std::vector<double>{255, 10, 100};
       return cases;
     },
     [](const Case& example, const std::vector<Tensor>& inputs) {
       Tensor result(example.output);
       std::vector<double> background(3, 0);
       if (example.params.count("background") != 0) {
         background = std::get<std::vector<double>>(example.params.at("background"));
       }
       for (size_t i = 0; i < result.size(); ++i) {
         const size_t pixel = i / 3 * 4;
         const double alpha = static_cast<double>(inputs[0].integers[pixel + 3]) / 255;
         const auto color = static_cast<double>(inputs[0].integers[pixel + i % 3]);
         result.integers[i] = std::llround(color * alpha + background[i % 3] * (1 - alpha));
       }
       return result;
     }});

}  // namespace

TEST_CASE("drawing kernels report mismatches of shape, element type and parameters") {
  const BufferPtr image = zeros(DType::u8, {4, 4, 4});
  const Params rectangle{{"x", int64_t{0}},
                         {"y", int64_t{0}},
                         {"width", int64_t{1}},
                         {"height", int64_t{1}},
                         {"color", std::vector<double>{1, 2, 3}}};
  const auto with = [&](const std::string& name, ParamValue value) {
    Params params = rectangle;
    params[name] = std::move(value);
    return params;
  };
  CHECK(failure([&] {
          run("fill_rect", {}, zeros(DType::u8, {4, 4, 3}), rectangle);
        }) ==
        "shape_mismatch: the output of fill_rect has shape {4, 4, 3}, expected {height, width, 4}");
  CHECK(failure([&] {
          run("fill_rect", {}, zeros(DType::f32, {4, 4, 4}), rectangle);
        }) == "dtype_mismatch: the output of fill_rect is f32, expected u8");
  for (const auto& bad : std::initializer_list<std::pair<std::string, ParamValue>>{
           {"width", int64_t{-1}},
           {"x", int64_t{1000000001}},
           {"x", 0.5},
           {"color", std::vector<double>{1, 2}},
           {"color", std::vector<double>{1, 2, 256}},
           {"color", std::vector<double>{1, 2, -1, 0}}}) {
    const auto error = error_of([&] { run("fill_rect", {}, image, with(bad.first, bad.second)); });
    REQUIRE(error);
    CHECK(error->reason == Reason::invalid_param);
  }
  CHECK(failure([&] {
          run("flatten", {image}, zeros(DType::u8, {4, 3, 3}));
        }) == "shape_mismatch: the output of flatten has shape {4, 3, 3}, expected {4, 4, 3}");
  CHECK(failure([&] {
          run("flatten", {zeros(DType::u8, {4, 4})}, image);
        }) == "shape_mismatch: input 0 of flatten has shape {4, 4}, expected {height, width, 4}");
}

}  // namespace dala::test
