// The interface between the TF.js importer and an operator: one node that is translated to ONNX.
//
// To add an operator: write a function that takes an OpCall, adds nodes to the builder and sets the
// outputs; then add it to the list at the end of its file. Add the list of a new file to table.cpp.
// Valid uses without an ONNX counterpart throw `unsupported_op`.
#pragma once

#include <string>
#include <vector>

#include "model/graph/problem.hpp"
#include "model/import/common/tensorflow.hpp"
#include "model/import/tfjs/file.hpp"

namespace dala::model::tfjs {

struct OpCall {
  GraphBuilder& builder;
  const NodeDef& node;
  const std::vector<NodeDef>& nodes;                  // all nodes of the model,
  const std::vector<std::vector<TensorId>>& tensors;  // and the outputs of those already created
  const char* onnx = nullptr;                         // Operator::onnx
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;

  // Throws `invalid_model` if the input is missing.
  TensorId in(size_t index) const;
  void set(TensorId output) { outputs = {output}; }

  // The values of an input that must be a constant.
  std::vector<int64_t> integers_of(size_t index, const std::string& what) const {
    return builder.known_integers(in(index), what);
  }
  int64_t integer_of(size_t index, const std::string& what) const;
  // An attribute with a count, 1 to 1024.
  size_t count_of(const std::string& attribute) const;
  bool channels_first() const { return node.text("data_format", "NHWC") == "NCHW"; }
};

struct Operator {
  const char* name;
  void (*import)(OpCall& call);
  const char* onnx = nullptr;  // the ONNX operator, for functions that several operators share
};
using Operators = std::vector<Operator>;

}  // namespace dala::model::tfjs
