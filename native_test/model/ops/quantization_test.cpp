// Quantized products whose sums exceed 2^24, against integer arithmetic on the host.
#include <cmath>
#include <cstdint>

#include "model/onnx_model.hpp"

namespace dala::test {
namespace {

using model::ElementType;

template <typename T>
std::vector<T> some_bytes(size_t count, uint32_t seed, int low, int high) {
  std::mt19937 random(seed);
  std::vector<T> bytes(count);
  const auto span = static_cast<uint32_t>(high - low + 1);
  for (T& each : bytes) each = static_cast<T>(low + static_cast<int>(random() % span));
  return bytes;
}

struct Planes {
  int64_t channels = 0;
  int64_t size = 0;     // height and width
  int64_t results = 0;  // channels of the result
};

// The 3x3 convolution of {1, channels, size, size} with a border of zero points.
std::vector<int64_t> convolution(const Planes& p, const std::vector<uint8_t>& x, int x_zero,
                                 const std::vector<int8_t>& w) {
  std::vector<int64_t> sums;
  for (int64_t o = 0; o < p.results; ++o) {
    for (int64_t y = 0; y < p.size; ++y) {
      for (int64_t column = 0; column < p.size; ++column) {
        int64_t sum = 0;
        for (int64_t c = 0; c < p.channels; ++c) {
          for (int64_t tap = 0; tap < 9; ++tap) {
            const int64_t row = y + tap / 3 - 1;
            const int64_t col = column + tap % 3 - 1;
            if (row < 0 || row >= p.size || col < 0 || col >= p.size) continue;
            sum += (x[static_cast<size_t>((c * p.size + row) * p.size + col)] - x_zero) *
                   w[static_cast<size_t>((o * p.channels + c) * 9 + tap)];
          }
        }
        sums.push_back(sum);
      }
    }
  }
  return sums;
}

const std::vector<int64_t> kBorder{1, 1, 1, 1};

}  // namespace

TEST_CASE("products of bytes are exact beyond 2^24, with weights that are constants or not") {
  constexpr int64_t kInner = 1501;
  const auto a = some_bytes<uint8_t>(2 * kInner, 1, 230, 255);
  const auto b = some_bytes<int8_t>(kInner * 3, 2, 90, 127);
  for (const bool constant : {true, false}) {
    CAPTURE(constant);
    OnnxWriter writer;
    writer.input("a", {2, kInner}, ElementType::u8);
    if (constant) {
      writer.constant("b", ElementType::i8, {kInner, 3}, b);
    } else {
      writer.input("b", {kInner, 3}, ElementType::i8);
    }
    writer.output("y", {}, ElementType::i32);
    writer.node("MatMulInteger", {"a", "b"}, {"y"});
    std::vector<BufferPtr> inputs{buffer(a, {2, kInner})};
    if (!constant) inputs.push_back(buffer(std::vector<int32_t>(b.begin(), b.end()), {kInner, 3}));
    std::vector<int32_t> expected;
    for (int64_t r = 0; r < 2; ++r) {
      for (int64_t c = 0; c < 3; ++c) {
        int32_t sum = 0;
        for (int64_t k = 0; k < kInner; ++k) {
          sum += a[static_cast<size_t>(r * kInner + k)] * b[static_cast<size_t>(k * 3 + c)];
        }
        expected.push_back(sum);
      }
    }
    CHECK(expected[0] > 2 * (1 << 24));
    CHECK(read<int32_t>(load(writer)->predict_now(inputs)[0]) == expected);
  }
}

TEST_CASE("convolutions of bytes are exact, with few terms and with many") {
  // The sums of 32 channels fit into f32, and Winograd's algorithm would suit their shape; those of
  // 128 channels do not fit.
  for (const Planes& p : {Planes{32, 28, 32}, Planes{128, 9, 17}}) {
    CAPTURE(p.channels);
    const auto x =
        some_bytes<uint8_t>(static_cast<size_t>(p.channels * p.size * p.size), 3, 180, 255);
    const auto w = some_bytes<int8_t>(static_cast<size_t>(p.results * p.channels * 9), 4,
                                      p.channels == 32 ? -128 : 80, 127);
    OnnxWriter writer;
    writer.input("x", {1, p.channels, p.size, p.size}, ElementType::u8);
    writer.output("y", {}, ElementType::i32);
    writer.constant("w", ElementType::i8, {p.results, p.channels, 3, 3}, w);
    writer.constant<uint8_t>("xz", ElementType::u8, {}, {5});
    writer.node("ConvInteger", {"x", "w", "xz"}, {"y"}, {attribute("pads", kBorder)});
    const auto got =
        read<int32_t>(load(writer)->predict_now({buffer(x, {1, p.channels, p.size, p.size})})[0]);
    const auto expected = convolution(p, x, 5, w);
    CHECK(std::vector<int64_t>(got.begin(), got.end()) == expected);
  }
}

TEST_CASE("QLinearConv adds its bias to the integer sums and rounds once") {
  const Planes p{8, 6, 3};
  const auto x = some_bytes<uint8_t>(static_cast<size_t>(p.channels * p.size * p.size), 5, 0, 255);
  const auto w = some_bytes<int8_t>(static_cast<size_t>(p.results * p.channels * 9), 6, -128, 127);
  const std::vector<int32_t> bias{3, 40'000'001, -40'000'003};  // f32 has no odd numbers there
  const std::vector<float> w_scale{0.01F, 0.0002F, 0.0003F};
  OnnxWriter writer;
  writer.input("x", {1, p.channels, p.size, p.size}, ElementType::u8);
  writer.output("y", {}, ElementType::u8);
  writer.constant("w", ElementType::i8, {p.results, p.channels, 3, 3}, w);
  writer.constant("bias", ElementType::i32, {p.results}, bias);
  writer.constant<float>("xs", ElementType::f32, {}, {0.02F});
  writer.constant<uint8_t>("xz", ElementType::u8, {}, {128});
  writer.constant("ws", ElementType::f32, {p.results}, w_scale);
  writer.constant<int8_t>("wz", ElementType::i8, {p.results}, {0, 0, 0});
  writer.constant<float>("ys", ElementType::f32, {}, {1.5F});
  writer.constant<uint8_t>("yz", ElementType::u8, {}, {131});
  writer.node("QLinearConv", {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "bias"}, {"y"},
              {attribute("pads", kBorder)});
  const auto got =
      read<uint8_t>(load(writer)->predict_now({buffer(x, {1, p.channels, p.size, p.size})})[0]);
  const auto sums = convolution(p, x, 128, w);
  REQUIRE(got.size() == sums.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    const size_t channel = i / static_cast<size_t>(p.size * p.size);
    const float factor = 0.02F * w_scale[channel] / 1.5F;
    const float scaled = static_cast<float>(sums[i] + bias[channel]) * factor;
    const double expected = std::clamp(std::nearbyint(scaled) + 131.0F, 0.0F, 255.0F);
    CHECK(got[i] == expected);
  }
}

}  // namespace dala::test
