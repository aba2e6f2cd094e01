// One node of a TF.js model being turned into nodes of ONNX, as its operator sees it.
//
// To add an operator: write a function that takes an OpCall, makes nodes by way of the builder and
// sets the outputs; then name it in the list at the end of its file. A new file's list goes into
// table.cpp. What is right but has no counterpart is `unsupported_op`.
#pragma once

#include <string>
#include <vector>

#include "model/tensorflow.hpp"
#include "model/tfjs/graph_def.hpp"

namespace dala::model::tfjs {

struct OpCall {
  GraphBuilder& builder;
  const NodeDef& node;
  const std::vector<NodeDef>& nodes;                  // all of the model,
  const std::vector<std::vector<TensorId>>& tensors;  // and the outputs of those that were made
  const char* onnx = nullptr;                         // of the list
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;

  // Throws `invalid_model` when there is no such input.
  TensorId in(size_t index) const;
  void set(TensorId output) { outputs = {output}; }

  // The constant that an input has to be.
  std::vector<int64_t> integers_of(size_t index, const std::string& what) const {
    return builder.known_integers(in(index), what);
  }
  int64_t integer_of(size_t index, const std::string& what) const;
  // An attribute that counts something: from 1 to a thousand.
  size_t count_of(const std::string& attribute) const;
  bool channels_first() const { return node.text("data_format", "NHWC") == "NCHW"; }
};

[[noreturn]] void unsupported(const std::string& what);

struct Operator {
  const char* name;
  void (*import)(OpCall& call);
  const char* onnx = nullptr;  // for functions that several share: what they make
};
using Operators = std::vector<Operator>;

}  // namespace dala::model::tfjs
