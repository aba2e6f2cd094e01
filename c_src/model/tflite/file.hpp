// A TFLite file as tables of the format: its tensors, operators and buffers, checked as far as
// numbers of one refer to another. Nothing is copied; the file has to outlive this.
#pragma once

#include <string>
#include <vector>

#include "model/element_type.hpp"
#include "model/tflite/flatbuffer.hpp"

namespace dala::model::tflite {

// How integers stand for real numbers: scale * (integer - zero point), one for all of them or, in
// weights, one for each place along the axis. Without scales they are just integers.
struct TensorQuantization {
  Numbers<float> scales;
  Numbers<int64_t> zero_points;  // may be fewer: the rest is 0
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
  std::vector<int64_t> signature;  // the same with -1 for what is free; empty: nothing is
  ElementType type = ElementType::f32;
  bool nibbles = false;    // two elements of 4 bits in a byte; `type` is then i8
  std::string unreadable;  // a type that there is no tensor of here
  Bytes data;              // of constants
  TensorQuantization quantization;
  std::optional<Table> sparsity;
  bool variable = false;

  // Integers that stand for real numbers: such tensors are floats in the graph.
  bool quantized() const;
};

struct OperatorInfo {
  std::string name;             // "CONV_2D", or that of a custom one
  std::vector<int64_t> inputs;  // -1: left out
  std::vector<int64_t> outputs;
  std::optional<Table> options;
  Bytes custom_options;

  // Options, by the number of the field; an absent table has only defaults.
  int64_t integer(int field, int64_t fallback = 0) const;  // of 32 bits
  int64_t byte(int field) const;                           // of 8, as enumerations are
  bool flag(int field) const;
  double real(int field) const;
  std::vector<int64_t> integers(int field) const;
};

struct File {
  std::string description;
  std::vector<TensorInfo> tensors;
  std::vector<OperatorInfo> operators;
  std::vector<int64_t> inputs;
  std::vector<int64_t> outputs;
};

// Whether the bytes say that they are such a file.
bool is_tflite(Bytes bytes);

// Throws `invalid_model` where the file is damaged, `unsupported` for other versions of the format.
File read_file(Bytes bytes);

}  // namespace dala::model::tflite
