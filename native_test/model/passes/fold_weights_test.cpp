// Weights of quantized layers as floats, against integer arithmetic on the host.
#include "model/passes/fold_weights.hpp"

#include "model/onnx_model.hpp"

namespace dala::test {
namespace {

using model::ElementType;

constexpr int64_t kRows = 3;
constexpr int64_t kInner = 300;
constexpr int64_t kColumns = 5;

std::vector<int8_t> random_bytes(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int8_t> bytes(count);
  for (int8_t& each : bytes) each = static_cast<int8_t>(random() % 256 - 128);
  return bytes;
}

}  // namespace

TEST_CASE("a product of integers with constant weights is exact") {
  const std::vector<int8_t> b = random_bytes(kInner * kColumns, 1);
  const std::vector<uint8_t> a(kRows * kInner, 255);  // the largest sums
  for (const bool per_column : {false, true}) {
    std::vector<int8_t> zeros{-7};
    if (per_column) zeros = {1, -2, 3, 0, 127};
    OnnxWriter writer;
    writer.input("a", {kRows, kInner}, ElementType::u8);
    writer.output("y", {}, ElementType::i32);
    writer.constant("b", ElementType::i8, {kInner, kColumns}, b);
    writer.constant<uint8_t>("az", ElementType::u8, {}, {3});
    writer.constant("bz", ElementType::i8,
                    per_column ? std::vector<int64_t>{kColumns} : std::vector<int64_t>{}, zeros);
    writer.node("MatMulInteger", {"a", "b", "az", "bz"}, {"y"});
    const auto results = load(writer)->predict_now({buffer(a, {kRows, kInner})});
    std::vector<int32_t> expected;
    for (int64_t r = 0; r < kRows; ++r) {
      for (int64_t c = 0; c < kColumns; ++c) {
        int32_t sum = 0;
        for (int64_t k = 0; k < kInner; ++k) {
          sum += (a[static_cast<size_t>(r * kInner + k)] - 3) *
                 (b[static_cast<size_t>(k * kColumns + c)] -
                  zeros[static_cast<size_t>(per_column ? c : 0)]);
        }
        expected.push_back(sum);
      }
    }
    CHECK(read<int32_t>(results[0]) == expected);
  }
}

TEST_CASE("weights that are dequantized become constants, per channel as well") {
  const std::vector<int8_t> bytes = random_bytes(4 * 6, 2);
  const std::vector<float> scales{0.5F, 0.25F, 2, 1};
  const std::vector<int8_t> zeros{0, 3, -4, 5};
  OnnxWriter writer;
  writer.input("x", {2, 6}).output("y");
  writer.constant("w", ElementType::i8, {4, 6}, bytes);
  writer.constant("s", ElementType::f32, {4}, scales).constant("z", ElementType::i8, {4}, zeros);
  writer.node("DequantizeLinear", {"w", "s", "z"}, {"real"}, {attribute("axis", int64_t{0})});
  writer.node("Gemm", {"x", "real"}, {"y"}, {attribute("transB", int64_t{1})});
  const auto model = load(writer);
  CHECK(model->info().nodes == 1);
  const std::vector<float> x = random_floats(12, 3);
  std::vector<double> expected;
  for (size_t r = 0; r < 2; ++r) {
    for (size_t c = 0; c < 4; ++c) {
      double sum = 0;
      for (size_t k = 0; k < 6; ++k) {
        sum += x[r * 6 + k] * static_cast<double>(scales[c]) * (bytes[c * 6 + k] - zeros[c]);
      }
      expected.push_back(sum);
    }
  }
  check_close(read<float>(model->predict_now({buffer(x, {2, 6})})[0]), expected);
}

}  // namespace dala::test
