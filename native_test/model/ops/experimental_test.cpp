// Affine, Crop and ImageScaler beside their definitions.
#include "model/onnx_model.hpp"

namespace dala::test {
namespace {

constexpr size_t kHeight = 5;
constexpr size_t kWidth = 7;

std::vector<float> run_planes(const std::string& op, const std::vector<AttributeBytes>& attributes,
                              const std::vector<float>& x) {
  OnnxWriter writer;
  writer.input("x", {1, 2, kHeight, kWidth}).output("y");
  writer.node(op, {"x"}, {"y"}, attributes);
  return read<float>(load(writer)->predict_now({buffer(x, {1, 2, kHeight, kWidth})})[0]);
}

}  // namespace

TEST_CASE("Affine and ImageScaler scale and shift") {
  const auto x = random_floats(2 * kHeight * kWidth, 1);
  std::vector<double> affine;
  std::vector<double> scaled;
  for (size_t i = 0; i < x.size(); ++i) {
    affine.push_back(1.5 * x[i] - 0.25);
    scaled.push_back(0.5 * x[i] + (i < kHeight * kWidth ? -3 : 4));
  }
  check_close(run_planes("Affine", {attribute("alpha", 1.5F), attribute("beta", -0.25F)}, x),
              affine);
  check_close(
      run_planes("ImageScaler",
                 {attribute("scale", 0.5F), attribute("bias", std::vector<float>{-3, 4})}, x),
      scaled);
}

TEST_CASE("Crop takes a border away, or a size from its corner on") {
  const auto x = random_floats(2 * kHeight * kWidth, 2);
  const std::vector<int64_t> border{2, 1, 3, 1};  // left, top, right, bottom
  const auto expected = [&x](size_t height, size_t width) {
    std::vector<float> values;
    for (size_t c = 0; c < 2; ++c) {
      for (size_t row = 1; row < 1 + height; ++row) {
        for (size_t column = 2; column < 2 + width; ++column) {
          values.push_back(x[(c * kHeight + row) * kWidth + column]);
        }
      }
    }
    return values;
  };
  CHECK(run_planes("Crop", {attribute("border", border)}, x) == expected(3, 2));
  const std::vector<int64_t> scale{4, 5};
  CHECK(run_planes("Crop", {attribute("border", border), attribute("scale", scale)}, x) ==
        expected(4, 5));
  try {
    run_planes("Crop",
               {attribute("border", border), attribute("scale", std::vector<int64_t>{5, 5})}, x);
    FAIL("it ran");
  } catch (const Error& error) {
    CHECK(error.message.find("5 rows from 1 on") != std::string::npos);
  }
}

}  // namespace dala::test
