// The tensors, operators and buffers of a TFLite file. Indices from one table into another are
// checked. Data is not copied; the bytes of the file must outlive this.
#pragma once

#include <string>
#include <vector>

#include "model/graph/element_type.hpp"
#include "model/import/tflite/flatbuffer.hpp"

namespace dala::model::tflite {

// Affine quantization: real = scale * (integer - zero point), per tensor or, for weights, per index
// of the axis. Without scales the tensor is not quantized.
struct TensorQuantization {
  Numbers<float> scales;
  Numbers<int64_t> zero_points;  // missing ones are 0
  int64_t axis = 0;

  bool present() const { return !scales.empty(); }
  double scale(size_t index) const { return static_cast<double>(scales[index]); }
  int64_t zero_point(size_t index) const {
    return index < zero_points.size() ? zero_points[index] : 0;
  }
};

struct TensorInfo {
  std::string_view name;
  Shape shape;
  std::vector<int64_t> signature;  // the shape with -1 for free dimensions; empty if none are
  ElementType type = ElementType::f32;
  bool nibbles = false;    // two 4-bit elements per byte; `type` is then i8
  std::string unreadable;  // set if the element type is not supported
  Bytes data;              // empty unless the tensor is a constant
  TensorQuantization quantization;
  std::optional<Table> sparsity;
  bool variable = false;

  // Quantized tensors are floats in the graph.
  bool quantized() const;
};

struct OperatorInfo {
  std::string name;             // "CONV_2D", or the name of a custom operator
  std::vector<int64_t> inputs;  // -1 for an omitted input
  std::vector<int64_t> outputs;
  std::optional<Table> options;
  Bytes custom_options;

  // Options by field number (see schema.hpp), or their defaults if absent.
  int64_t integer(int field, int64_t fallback = 0) const;  // 32 bits
  int64_t byte(int field) const;                           // 8 bits, as for enumerations
  bool flag(int field) const;
  double real(int field) const;
  std::vector<int64_t> integers(int field) const;
};

// One of the graphs of a file.
struct File {
  std::string description;
  std::vector<TensorInfo> tensors;
  std::vector<OperatorInfo> operators;
  std::vector<int64_t> inputs;
  std::vector<int64_t> outputs;
};

// Whether the bytes have the file identifier of TFLite.
bool is_tflite(Bytes bytes);

// Throws `invalid_model` for a damaged file or a graph that is not there, `unsupported` for another
// schema version.
File read_file(Bytes bytes, size_t graph = 0);

}  // namespace dala::model::tflite
