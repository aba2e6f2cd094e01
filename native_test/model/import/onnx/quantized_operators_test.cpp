// Operators of com.microsoft on quantized tensors, against their definitions in double precision.
#include "model/import/onnx/quantized_operators.hpp"

#include "model/onnx_model.hpp"

namespace dala::test {
namespace {

using model::ElementType;
constexpr const char* kDomain = "com.microsoft";

std::vector<uint8_t> all_bytes(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(count);
  for (uint8_t& each : bytes) each = static_cast<uint8_t>(random() % 256);
  return bytes;
}

enum class Zeros { none, packed, floats };

// One model of MatMulNBits and the result that its definition gives.
void check_block_product(int64_t bits, int64_t rows, int64_t block, Zeros kind) {
  CAPTURE(bits);
  CAPTURE(rows);
  CAPTURE(static_cast<int>(kind));
  constexpr int64_t kColumns = 3;
  const int64_t blocks = (rows + block - 1) / block;
  const int64_t block_bytes = block * bits / 8;
  const int64_t zero_bytes = (blocks * bits + 7) / 8;
  const auto b = all_bytes(static_cast<size_t>(kColumns * blocks * block_bytes), 1);
  const auto packed = all_bytes(static_cast<size_t>(kColumns * zero_bytes), 2);
  const auto scales = random_floats(static_cast<size_t>(kColumns * blocks), 3);
  const auto floats = random_floats(static_cast<size_t>(kColumns * blocks), 4, 9);
  const auto a = random_floats(static_cast<size_t>(2 * rows), 5);
  const std::vector<float> bias{1, -2, 3};
  OnnxWriter writer;
  writer.input("a", {2, rows}).output("y");
  writer.constant("b", ElementType::u8, {kColumns, blocks, block_bytes}, b);
  writer.constant("s", ElementType::f32, {kColumns, blocks}, scales);
  std::vector<std::string> inputs{"a", "b", "s", "", "", "bias"};
  if (kind == Zeros::packed) writer.constant("z", ElementType::u8, {kColumns, zero_bytes}, packed);
  if (kind == Zeros::floats) writer.constant("z", ElementType::f32, {kColumns, blocks}, floats);
  if (kind != Zeros::none) inputs[3] = "z";
  writer.constant("bias", ElementType::f32, {kColumns}, bias);
  writer.node("MatMulNBits", inputs, {"y"},
              {attribute("K", rows), attribute("N", kColumns), attribute("bits", bits),
               attribute("block_size", block)},
              kDomain);
  const auto part = [&](const std::vector<uint8_t>& bytes, int64_t first, int64_t index) {
    const int64_t bit = index * bits;
    return bytes[static_cast<size_t>(first + bit / 8)] >> (bit % 8) & ((1 << bits) - 1);
  };
  std::vector<double> expected;
  for (int64_t r = 0; r < 2; ++r) {
    for (int64_t c = 0; c < kColumns; ++c) {
      double sum = bias[static_cast<size_t>(c)];
      for (int64_t k = 0; k < rows; ++k) {
        const int64_t at = c * blocks + k / block;
        double zero = 1 << (bits - 1);
        if (kind == Zeros::packed) zero = part(packed, c * zero_bytes, k / block);
        if (kind == Zeros::floats) zero = floats[static_cast<size_t>(at)];
        sum += a[static_cast<size_t>(r * rows + k)] * scales[static_cast<size_t>(at)] *
               (part(b, at * block_bytes, k % block) - zero);
      }
      expected.push_back(sum);
    }
  }
  check_close(read<float>(load(writer)->predict_now({buffer(a, {2, rows})})[0]), expected, 1e-4);
}

}  // namespace

TEST_CASE("MatMulNBits unpacks its blocks, with every kind of zero point") {
  for (const Zeros kind : {Zeros::none, Zeros::packed, Zeros::floats}) {
    check_block_product(4, 96, 32, kind);   // an odd number of blocks
    check_block_product(4, 100, 16, kind);  // the last block is cut off
    check_block_product(8, 64, 32, kind);
    check_block_product(2, 64, 16, kind);
  }
}

TEST_CASE("MatMulNBits says what does not fit") {
  OnnxWriter writer;
  writer.input("a", {2, 32}).output("y");
  writer.constant("b", ElementType::u8, {3, 1, 16}, all_bytes(48, 1));
  writer.constant<float>("s", ElementType::f32, {2}, {1, 2});
  writer.node("MatMulNBits", {"a", "b", "s"}, {"y"},
              {attribute("K", int64_t{32}), attribute("N", int64_t{3}),
               attribute("block_size", int64_t{32})},
              kDomain);
  try {
    load(writer);
    FAIL("it was loaded");
  } catch (const Error& error) {
    CHECK(error.reason == Reason::unsupported_op);
    CHECK(error.message.find("2 scales for 3 blocks") != std::string::npos);
  }
}

TEST_CASE("sums and activations of bytes are rounded once") {
  const auto a = all_bytes(24, 1);
  const auto b = all_bytes(24, 2);
  for (const char* op : {"QLinearAdd", "QLinearMul", "QLinearLeakyRelu", "QLinearSigmoid"}) {
    CAPTURE(op);
    const std::string name = op;
    const bool two = name == "QLinearAdd" || name == "QLinearMul";
    OnnxWriter writer;
    writer.input("a", {24}, ElementType::u8);
    if (two) writer.input("b", {24}, ElementType::u8);
    writer.output("y", {}, ElementType::u8);
    writer.constant<float>("as", ElementType::f32, {}, {0.05F});
    writer.constant<uint8_t>("az", ElementType::u8, {}, {120});
    writer.constant<float>("bs", ElementType::f32, {}, {0.031F});
    writer.constant<uint8_t>("bz", ElementType::u8, {}, {7});
    writer.constant<float>("ys", ElementType::f32, {}, {0.07F});
    writer.constant<uint8_t>("yz", ElementType::u8, {}, {90});
    std::vector<std::string> inputs{"a", "as", "az"};
    if (two) inputs.insert(inputs.end(), {"b", "bs", "bz"});
    inputs.insert(inputs.end(), {"ys", "yz"});
    std::vector<AttributeBytes> attributes;
    if (name == "QLinearLeakyRelu") attributes.push_back(attribute("alpha", 0.2F));
    writer.node(op, inputs, {"y"}, attributes, kDomain);
    std::vector<BufferPtr> given{buffer(a, {24})};
    if (two) given.push_back(buffer(b, {24}));
    const auto got = read<uint8_t>(load(writer)->predict_now(given)[0]);
    REQUIRE(got.size() == 24);
    for (size_t i = 0; i < 24; ++i) {
      CAPTURE(i);
      const double x = 0.05 * (a[i] - 120);
      const double z = 0.031 * (b[i] - 7);
      double y = x + z;
      if (name == "QLinearMul") y = x * z;
      if (name == "QLinearLeakyRelu") y = x < 0 ? 0.2 * x : x;
      if (name == "QLinearSigmoid") y = 1 / (1 + std::exp(-x));
      const double exact = std::clamp(y / 0.07 + 90, 0.0, 255.0);
      CHECK(std::fabs(got[i] - exact) <= 0.5 + 1e-4);
    }
  }
}

TEST_CASE("QLinearConcat brings its parts to one scale") {
  const std::vector<uint8_t> a{0, 10, 200, 255};
  const std::vector<uint8_t> b{5, 6};
  OnnxWriter writer;
  writer.input("a", {2, 2}, ElementType::u8).input("b", {2, 1}, ElementType::u8);
  writer.output("y", {}, ElementType::u8);
  writer.constant<float>("as", ElementType::f32, {}, {0.5F});
  writer.constant<uint8_t>("az", ElementType::u8, {}, {10});
  writer.constant<float>("bs", ElementType::f32, {}, {2});
  writer.constant<uint8_t>("bz", ElementType::u8, {}, {0});
  writer.constant<float>("ys", ElementType::f32, {}, {1});
  writer.constant<uint8_t>("yz", ElementType::u8, {}, {20});
  writer.node("QLinearConcat", {"ys", "yz", "a", "as", "az", "b", "bs", "bz"}, {"y"},
              {attribute("axis", int64_t{1})}, kDomain);
  const auto got =
      read<uint8_t>(load(writer)->predict_now({buffer(a, {2, 2}), buffer(b, {2, 1})})[0]);
  CHECK(got == std::vector<uint8_t>{15, 20, 30, 115, 142, 32});
}

TEST_CASE("products of bytes with scales give floats") {
  const std::vector<float> x{-1, 0.5F, 2, 0.25F, 1, -0.75F};
  const std::vector<uint8_t> weights{1, 200, 30, 90, 128, 255};
  const std::vector<float> scales{0.5F, 0.25F};
  OnnxWriter writer;
  writer.input("x", {2, 3}).output("y");
  writer.constant("w", ElementType::u8, {3, 2}, weights);
  writer.constant("ws", ElementType::f32, {2}, scales);
  writer.constant<uint8_t>("wz", ElementType::u8, {2}, {128, 100});
  writer.constant<float>("bias", ElementType::f32, {2}, {10, 20});
  writer.node("DynamicQuantizeMatMul", {"x", "w", "ws", "wz", "bias"}, {"y"}, {}, kDomain);
  // x lies in -1 .. 2, so a step is 3 / 255, and its zero point is 85.
  const double step = 3.0 / 255;
  std::vector<double> expected;
  for (size_t r = 0; r < 2; ++r) {
    for (size_t c = 0; c < 2; ++c) {
      double sum = 0;
      for (size_t k = 0; k < 3; ++k) {
        sum += std::nearbyint(x[r * 3 + k] / step) * (weights[k * 2 + c] - (c == 0 ? 128 : 100));
      }
      expected.push_back(sum * step * scales[c] + (c == 0 ? 10 : 20));
    }
  }
  check_close(read<float>(load(writer)->predict_now({buffer(x, {2, 3})})[0]), expected);
}

}  // namespace dala::test
