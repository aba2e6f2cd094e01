// The interface between the TFLite importer and an operator: one operator of the file that is
// translated to ONNX. Accessors throw `invalid_model` for missing inputs and outputs. An operator
// function that throws `unsupported_op` adds to the list with which loading fails.
//
// To add an operator: write a function that takes a OpCall, adds nodes to the builder and sets the
// results; then add it to the list at the end of its file. Add the list of a new file to table.cpp.
#pragma once

#include <string>
#include <vector>

#include "model/graph/problem.hpp"
#include "model/import/common/channels_last.hpp"
#include "model/import/tflite/file.hpp"

namespace dala::model::tflite {

// The services of the importer for operators that use more than their inputs. Tensors are
// identified by their numbers in the file.
class Surroundings {
 public:
  virtual ~Surroundings() = default;

  // Another graph of the file, whose quantized inputs and outputs are floats.
  virtual Graph nested(int64_t graph) = 0;
  // Reads the initial values of variables from a graph that assigns them.
  virtual void initialize(int64_t graph) = 0;

  // Variables: by name through handles, or tensors that keep their values.
  virtual void open_variable(int64_t handle, const std::string& name) = 0;
  virtual TensorId read_variable(int64_t handle, int64_t result) = 0;
  virtual void assign_variable(int64_t handle, TensorId value) = 0;
  virtual void update(int64_t variable, TensorId value) = 0;
};

struct OpCall {
  GraphBuilder& builder;
  const File& file;
  const OperatorInfo& op;
  std::vector<TensorId> inputs;  // quantized tensors are floats
  std::vector<TensorId> outputs;
  Surroundings* around = nullptr;

  bool has(size_t index) const { return index < inputs.size() && inputs[index] != kNone; }
  TensorId in(size_t index) const;
  TensorId optional(size_t index) const { return has(index) ? inputs[index] : kNone; }
  // The input with the type of the file: quantized tensors are integers.
  TensorId raw(size_t index) const;
  void set(size_t index, TensorId tensor);
  void set_all(const std::vector<TensorId>& results);

  const TensorInfo& in_info(size_t index) const;
  const TensorInfo& out_info(size_t index) const;

  // Options by field number, see schema.hpp.
  int64_t integer(int field, int64_t fallback = 0) const { return op.integer(field, fallback); }
  int64_t byte(int field) const { return op.byte(field); }
  bool flag(int field) const { return op.flag(field); }
  double real(int field) const { return op.real(field); }
  std::vector<int64_t> integers(int field) const { return op.integers(field); }

  // The activation in the options, and the range of the first output's quantized type.
  channels_last::Epilogue epilogue(int activation_field) const;
  channels_last::Epilogue activation(int activation_field) const;  // without the range
};

// The range of real numbers that a quantized tensor can represent. `slack` is half a quantization
// step.
struct Range {
  double low = 0;
  double high = 0;
  double slack = 0;
};
std::optional<Range> range_of(const TensorInfo& tensor);  // nullopt if not quantized per tensor

// How an operator's results stay in the range of their quantized type.
enum class Keeps {
  nothing,  // the importer clamps the results
  itself,   // the operator function clamps them, by `epilogue`
  values,   // results are within the range of the inputs; clamped if the inputs have a wider range
  bounds,   // the operator's results are bounded by definition, as for softmax
};

struct Operator {
  const char* name;
  void (*build)(OpCall& call);
  Keeps keeps = Keeps::nothing;
};
using Operators = std::vector<Operator>;

}  // namespace dala::model::tflite
