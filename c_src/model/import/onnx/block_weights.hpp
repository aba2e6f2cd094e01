// Weights of MatMulNBits: numbers of a few bits in blocks along the rows of the matrix, each block
// of a column with a scale and a zero point.
#pragma once

#include <string>

#include "model/graph/host_tensor.hpp"

namespace dala::model::onnx {

struct BlockWeights {
  int64_t rows = 0;     // K
  int64_t columns = 0;  // N
  int64_t bits = 4;
  int64_t block = 32;
  const HostTensor* packed = nullptr;  // u8 {columns, blocks, block * bits / 8}, low bits first
  const HostTensor* scales = nullptr;  // {columns, blocks}
  const HostTensor* zeros = nullptr;  // floats {columns, blocks}, or packed as the weights; or null
};

// The matrix {rows, columns} of (q - zero) * scale. Null, with the reason in `problem`, if the
// parts do not fit together.
HostTensorPtr unpacked(const BlockWeights& weights, std::string& problem);

}  // namespace dala::model::onnx
