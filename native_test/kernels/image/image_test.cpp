// Valid images: shapes, flat buffers with their size in parameters, and the errors for others.
#include <doctest/doctest.h>

#include "kernels/image/pictures.hpp"

namespace dala::test {
namespace {

std::string trying(const Shape& shape, const Params& params = {}) {
  const BufferPtr image = zeros(DType::u8, shape);
  return failure([&] { run("blur", {image}, image, params); });
}

}  // namespace

TEST_CASE("an image has one, three or four channels") {
  const std::string wanted = ", expected {h, w}, or {h, w, c} with 1, 3 or 4 channels";
  for (const Shape& shape : {Shape{}, Shape{2, 2, 2}, Shape{2, 2, 5}, Shape{1, 2, 2, 3}}) {
    CHECK(trying(shape) ==
          text("shape_mismatch: input 0 of blur has shape ", to_string(shape), wanted));
  }
  for (const Shape& shape : {Shape{2, 2}, Shape{2, 2, 1}, Shape{2, 2, 3}, Shape{2, 2, 4}}) {
    CHECK(trying(shape) == "no error");
  }
}

TEST_CASE("a flat buffer is an image only with its size") {
  const Params size{{"width", int64_t{3}}, {"height", int64_t{2}}};
  CHECK(trying({18}) ==
        "shape_mismatch: input 0 of blur has shape {18}, expected {h, w} or {h, w, c}, or the "
        "parameters width and height");
  CHECK(trying({18}, {{"width", int64_t{3}}}) == trying({18}));
  for (int64_t channels : {1, 3, 4}) CHECK(trying({6 * channels}, size) == "no error");
  CHECK(trying({12}, size) ==
        "shape_mismatch: input 0 of blur has 12 elements, expected 3 x 2 pixels of 1, 3 or 4 "
        "channels");
  CHECK(trying({20}, size) ==
        "shape_mismatch: input 0 of blur has 20 elements, expected 3 x 2 pixels of 1, 3 or 4 "
        "channels");
  Params channels = size;
  channels["channels"] = int64_t{4};
  CHECK(trying({24}, channels) == "no error");
  CHECK(trying({18}, channels) ==
        "shape_mismatch: input 0 of blur has 18 elements, expected 3 x 2 pixels of 4 channels");
  CHECK(trying({24}, {{"width", int64_t{1} << 30}, {"height", int64_t{1} << 30}}) ==
        "shape_mismatch: input 0 of blur has 24 elements, expected 1073741824 x 1073741824 pixels "
        "of 1, 3 or 4 channels");
}

TEST_CASE("a flat buffer has the same result as a shaped one") {
  std::vector<uint8_t> levels;
  for (int i = 0; i < 5 * 4 * 3; ++i) levels.push_back(static_cast<uint8_t>(i * 37));
  const BufferPtr shaped = zeros(DType::u8, {4, 5, 3});
  const BufferPtr flat = zeros(DType::u8, {60});
  run("blur", {buffer(levels, {4, 5, 3})}, shaped);
  run("blur", {buffer(levels)}, flat, {{"width", int64_t{5}}, {"height", int64_t{4}}});
  CHECK(read<uint8_t>(shaped) == read<uint8_t>(flat));
}

TEST_CASE("parameters that repeat the shape must agree with it") {
  CHECK(trying({2, 3, 4}, {{"width", int64_t{3}}, {"channels", int64_t{4}}}) == "no error");
  CHECK(trying({2, 3, 4}, {{"width", int64_t{2}}}) ==
        "shape_mismatch: input 0 of blur has shape {2, 3, 4}, expected the width 2");
}

}  // namespace dala::test
