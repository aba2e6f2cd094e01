#include "model/import/onnx/block_weights.hpp"

#include "runtime/error.hpp"

namespace dala::model::onnx {
namespace {

// One of the numbers that are packed in bytes, lowest bits first.
int field(const uint8_t* bytes, int64_t index, int64_t bits) {
  const int64_t per_byte = 8 / bits;
  return bytes[index / per_byte] >> (index % per_byte * bits) & ((1 << bits) - 1);
}

}  // namespace

HostTensorPtr unpacked(const BlockWeights& weights, std::string& problem) {
  const int64_t bits = weights.bits;
  if (bits != 2 && bits != 4 && bits != 8) {
    problem = text("weights of ", bits, " bits");
    return nullptr;
  }
  // The limits keep the products below in range.
  constexpr int64_t kMost = int64_t{1} << 30;
  if (weights.rows < 1 || weights.columns < 1 || weights.rows > kMost || weights.columns > kMost ||
      weights.block < 16 || weights.block > kMost || (weights.block & (weights.block - 1)) != 0) {
    problem =
        text("K = ", weights.rows, ", N = ", weights.columns, " and block_size = ", weights.block);
    return nullptr;
  }
  const int64_t blocks = (weights.rows + weights.block - 1) / weights.block;
  const int64_t block_bytes = weights.block * bits / 8;
  const int64_t zero_bytes = (blocks * bits + 7) / 8;  // of a column
  const int64_t all = weights.columns * blocks;
  if (weights.packed->type != ElementType::u8 || weights.packed->count() / block_bytes != all ||
      weights.packed->count() % block_bytes != 0) {
    problem = text("weights of shape ", to_string(weights.packed->shape), " for ", weights.columns,
                   " columns of ", blocks, " blocks");
    return nullptr;
  }
  if (weights.scales->count() != all) {
    problem = text(weights.scales->count(), " scales for ", all, " blocks");
    return nullptr;
  }
  const bool packed_zeros = weights.zeros != nullptr && !is_float(weights.zeros->type);
  const int64_t expected_zeros = packed_zeros ? weights.columns * zero_bytes : all;
  if (weights.zeros != nullptr && (weights.zeros->count() != expected_zeros ||
                                   (packed_zeros && weights.zeros->type != ElementType::u8))) {
    problem = text("zero points of ", to_string(weights.zeros->type), " and shape ",
                   to_string(weights.zeros->shape), " for ", all, " blocks");
    return nullptr;
  }
  auto matrix =
      std::make_shared<HostTensor>(ElementType::f32, Shape{weights.rows, weights.columns});
  float* const to = matrix->data<float>();
  const auto* const bytes = weights.packed->data<uint8_t>();
  for (int64_t column = 0; column < weights.columns; ++column) {
    for (int64_t row = 0; row < weights.rows; ++row) {
      const int64_t block = row / weights.block;
      const int64_t at = column * blocks + block;
      double zero = 1 << (bits - 1);
      if (packed_zeros) {
        zero = field(weights.zeros->data<uint8_t>() + column * zero_bytes, block, bits);
      } else if (weights.zeros != nullptr) {
        zero = weights.zeros->number(at);
      }
      const double value = field(bytes + at * block_bytes, row % weights.block, bits) - zero;
      to[row * weights.columns + column] = static_cast<float>(value * weights.scales->number(at));
    }
  }
  return matrix;
}

}  // namespace dala::model::onnx
