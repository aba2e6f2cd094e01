// The reference implementation of edge_detect, numbers computed by hand, and its errors for outputs
// that do not match.
#include <doctest/doctest.h>

#include "kernels/image/pictures.hpp"

namespace dala::test {
namespace {

std::vector<Case> edge_cases(DType dtype) {
  std::vector<Case> cases;
  std::vector<Shape> shapes = picture_shapes();
  if (!quick()) shapes.push_back({10, 4000, 3});
  for (const Shape& shape : shapes) {
    for (double scale : {1.0, 0.25}) {
      cases.push_back({{{dtype, shape}}, {dtype, shape}, {{"scale", scale}}});
    }
    cases.push_back({{{dtype, shape}}, {dtype, {shape[0], shape[1]}}});
    cases.push_back({{{dtype, shape}}, {dtype, {shape[0], shape[1], 1}}});
  }
  return cases;
}

Tensor edges(const Case& example, const std::vector<Tensor>& inputs) {
  const Picture from(example.inputs[0].shape);
  const Picture to(example.output.shape);
  const auto brightness = [&](int64_t y, int64_t x) -> long double {
    const size_t index = from.index(walk(y, from.height), walk(x, from.width), 0);
    if (from.channels == 1) return level(inputs[0], index);
    return 0.299L * level(inputs[0], index) + 0.587L * level(inputs[0], index + 1) +
           0.114L * level(inputs[0], index + 2);
  };
  Tensor result(example.output);
  if (result.is_real()) result.scales.assign(result.size(), 32);
  for (int64_t y = 0; y < to.height; ++y) {
    for (int64_t x = 0; x < to.width; ++x) {
      long double gx = 0;
      long double gy = 0;
      for (int64_t d = -1; d <= 1; ++d) {
        const int64_t weight = d == 0 ? 2 : 1;
        gx += weight * (brightness(y + d, x + 1) - brightness(y + d, x - 1));
        gy += weight * (brightness(y + 1, x + d) - brightness(y - 1, x + d));
      }
      const long double steep =
          number_of(example.params, "scale", 1) * std::sqrt(gx * gx + gy * gy);
      for (int64_t c = 0; c < to.channels; ++c) {
        set_level(result, to.index(y, x, c),
                  c == 3 ? level(inputs[0], from.index(y, x, 3)) : steep);
      }
    }
  }
  return result;
}

const SubjectOf kEdges("edge_detect", {edge_cases, edges, 1e-6L, 0, 1});

}  // namespace

TEST_CASE("edge_detect returns known numbers") {
  const BufferPtr out = zeros(DType::u8, {3, 4});
  run("edge_detect", {buffer<uint8_t>({0, 0, 50, 50, 0, 0, 50, 50, 0, 0, 50, 50}, {3, 4})}, out);
  CHECK(read<uint8_t>(out) == std::vector<uint8_t>{0, 200, 200, 0, 0, 200, 200, 0, 0, 200, 200, 0});
}

TEST_CASE("edge_detect reports mismatches of shape and parameters") {
  const auto detecting = [](const Shape& from, const Shape& to, const Params& params = {}) {
    return failure(
        [&] { run("edge_detect", {zeros(DType::u8, from)}, zeros(DType::u8, to), params); });
  };
  CHECK(detecting({4, 5, 3}, {4, 5, 4}) ==
        "shape_mismatch: the output of edge_detect has shape {4, 5, 4}, expected {4, 5, 3}, {4, 5} "
        "or {4, 5, 1}");
  const Params size{{"width", int64_t{5}}, {"height", int64_t{4}}};
  CHECK(detecting({60}, {20}, size) == "no error");
  CHECK(detecting({60}, {60}, size) == "no error");
  CHECK(detecting({60}, {30}, size) ==
        "shape_mismatch: the output of edge_detect has shape {30}, expected {60} or {20}");
  CHECK(detecting({4, 5}, {4, 5}, {{"scale", -1.0}}) ==
        "invalid_param: scale of edge_detect must be a number between 0 and 1024, got -1");
}

}  // namespace dala::test
