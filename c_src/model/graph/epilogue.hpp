// The epilogue of a node: what a convolution, a matrix product or a batch normalization does to
// each sum before it is stored. Passes set it, operators read it; a node of a file has none.
#pragma once

#include <cstddef>
#include <optional>

namespace dala::model {

struct Activation {
  enum class Kind { none, relu, relu6, clamp, leaky_relu, sigmoid, silu, hardswish };

  Kind kind = Kind::none;
  double slope = 0;  // of leaky_relu
  double low = 0;    // of clamp
  double high = 1;

  explicit operator bool() const { return kind != Kind::none; }
};

// The name of the activation as a parameter of kernels.
const char* to_string(Activation::Kind kind);

// sum + bias + residual, then the activation. The tensors are inputs of the node after those that
// ONNX defines, so that every list of uses has them; here are their positions.
struct Epilogue {
  std::optional<size_t> bias;  // of MatMul, one row; Conv and Gemm have theirs as an ONNX input
  std::optional<size_t> residual;
  Activation activation;
};

}  // namespace dala::model
