// One operator of a TFLite file, as the function sees it that turns it into nodes of ONNX. What is
// missing throws `invalid_model`; `unsupported_op` from here or from the function is collected with
// all others and refused by name when the model is loaded.
//
// To add an operator: write a function that takes a Call, adds nodes to the builder and sets the
// results; then name it in the list at the end of its file. A new file's list goes into table.cpp.
#pragma once

#include <string>
#include <vector>

#include "model/channels_last.hpp"
#include "model/tflite/file.hpp"

namespace dala::model::tflite {

struct Call {
  GraphBuilder& builder;
  const File& file;
  const OperatorInfo& op;
  std::vector<TensorId> inputs;  // floats where the file has quantized integers
  std::vector<TensorId> outputs;

  bool has(size_t index) const { return index < inputs.size() && inputs[index] != kNone; }
  TensorId in(size_t index) const;
  TensorId optional(size_t index) const { return has(index) ? inputs[index] : kNone; }
  // As the file has it: integers even where they stand for real numbers.
  TensorId raw(size_t index) const;
  void set(size_t index, TensorId tensor);

  const TensorInfo& in_info(size_t index) const;
  const TensorInfo& out_info(size_t index) const;

  // Options, by the number of the field.
  int64_t integer(int field, int64_t fallback = 0) const { return op.integer(field, fallback); }
  int64_t byte(int field) const { return op.byte(field); }
  bool flag(int field) const { return op.flag(field); }
  double real(int field) const { return op.real(field); }
  std::vector<int64_t> integers(int field) const { return op.integers(field); }

  // The activation that the option names, and the range that the first result can express.
  channels_last::Finish finish(int activation_field) const;
  channels_last::Finish activation(int activation_field) const;  // without the range

  [[noreturn]] static void unsupported(const std::string& what);
};

// The real numbers that a quantized tensor can express, and half the distance between two of them.
struct Range {
  double low = 0;
  double high = 0;
  double slack = 0;
};
std::optional<Range> range_of(const TensorInfo& tensor);  // nothing: it is not quantized

// What is known about the range of an operator's results.
enum class Keeps {
  nothing,  // results are clamped to what their type can express
  itself,   // the function does so, by `finish`
  values,   // results are elements of the inputs, clamped where these can express more
  bounds,   // it has bounds that its results express by definition, as softmax does
};

struct Operator {
  const char* name;
  void (*build)(Call& call);
  Keeps keeps = Keeps::nothing;
};
using Operators = std::vector<Operator>;

}  // namespace dala::model::tflite
