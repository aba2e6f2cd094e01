// com.microsoft.DynamicQuantizeLSTM beside an LSTM of the same weights in floats.
#include "model/import/onnx/quantized_lstm.hpp"

#include "model/onnx_model.hpp"

namespace dala::test {
namespace {

using model::ElementType;

constexpr int64_t kSteps = 3;
constexpr int64_t kFeatures = 5;
constexpr int64_t kHidden = 4;
constexpr int64_t kColumns = 4 * kHidden;

// Bytes of {1, rows, columns} in file order, and their values as {1, columns, rows}.
struct Weights {
  std::vector<int8_t> bytes;
  std::vector<float> scales;
  std::vector<int8_t> zeros;
  std::vector<float> real;

  Weights(int64_t rows, bool per_column, uint32_t seed) {
    std::mt19937 random(seed);
    for (int64_t i = 0; i < rows * kColumns; ++i) {
      bytes.push_back(static_cast<int8_t>(random() % 200 - 100));
    }
    for (int64_t i = 0; i < (per_column ? kColumns : 1); ++i) {
      scales.push_back(0.004F + 0.001F * static_cast<float>(i % 3));
      zeros.push_back(static_cast<int8_t>(i % 5));
    }
    real.resize(bytes.size());
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < kColumns; ++c) {
        const auto at = static_cast<size_t>(per_column ? c : 0);
        real[static_cast<size_t>(c * rows + r)] =
            static_cast<float>(bytes[static_cast<size_t>(r * kColumns + c)] - zeros[at]) *
            scales[at];
      }
    }
  }
};

// The input as it is after rounding to bytes, in the way of DynamicQuantizeLinear.
std::vector<float> rounded(const std::vector<float>& x) {
  const float lowest = std::min(0.0F, *std::min_element(x.begin(), x.end()));
  const float highest = std::max(0.0F, *std::max_element(x.begin(), x.end()));
  const float scale = (highest - lowest) / 255;
  const float zero = std::nearbyint(-lowest / scale);
  std::vector<float> result;
  for (float each : x) {
    const float byte = std::clamp(std::nearbyint(each / scale) + zero, 0.0F, 255.0F);
    result.push_back((byte - zero) * scale);
  }
  return result;
}

}  // namespace

TEST_CASE("an LSTM with weights in bytes is one with floats") {
  for (const bool per_column : {false, true}) {
    CAPTURE(per_column);
    const Weights w(kFeatures, per_column, 1);
    const Weights r(kHidden, per_column, 2);
    const std::vector<float> bias = random_floats(2 * kColumns, 3);
    const std::vector<float> x = random_floats(kSteps * kFeatures, 4, 3);
    const std::vector<int64_t> scales =
        per_column ? std::vector<int64_t>{1, kColumns} : std::vector<int64_t>{1};
    OnnxWriter bytes;
    bytes.input("x", {kSteps, 1, kFeatures}).output("y");
    bytes.constant("w", ElementType::i8, {1, kFeatures, kColumns}, w.bytes);
    bytes.constant("r", ElementType::i8, {1, kHidden, kColumns}, r.bytes);
    bytes.constant("b", ElementType::f32, {1, 2 * kColumns}, bias);
    bytes.constant("ws", ElementType::f32, scales, w.scales);
    bytes.constant("wz", ElementType::i8, scales, w.zeros);
    bytes.constant("rs", ElementType::f32, scales, r.scales);
    bytes.constant("rz", ElementType::i8, scales, r.zeros);
    bytes.node("DynamicQuantizeLSTM", {"x", "w", "r", "b", "", "", "", "", "ws", "wz", "rs", "rz"},
               {"y"}, {attribute("hidden_size", int64_t{kHidden})}, "com.microsoft");
    OnnxWriter floats;
    floats.input("x", {kSteps, 1, kFeatures}).output("y");
    floats.constant("w", ElementType::f32, {1, kColumns, kFeatures}, w.real);
    floats.constant("r", ElementType::f32, {1, kColumns, kHidden}, r.real);
    floats.constant("b", ElementType::f32, {1, 2 * kColumns}, bias);
    floats.node("LSTM", {"x", "w", "r", "b"}, {"y"}, {attribute("hidden_size", int64_t{kHidden})});
    const Shape shape{kSteps, 1, kFeatures};
    const auto got = read<float>(load(bytes)->predict_now({buffer(x, shape)})[0]);
    const auto want = read<float>(load(floats)->predict_now({buffer(rounded(x), shape)})[0]);
    check_close(got, {want.begin(), want.end()}, 1e-5);
  }
}

}  // namespace dala::test
