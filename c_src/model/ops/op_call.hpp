// The interface between the planner and an operator: inputs, attributes and outputs of one node.
// Accessors throw `invalid_model` for inputs that are missing and attributes of the wrong type.
//
// To add an operator: write a function that takes an OpCall, infers the shapes, calls the functions
// of build.hpp and primitives.hpp and sets the outputs; then add it to the list at the end of its
// file. Add the list of a new file to table.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/build/primitives.hpp"
#include "model/graph/graph.hpp"
#include "model/graph/problem.hpp"

namespace dala::model {

struct OpCall {
  Build& build;
  const Node& node;
  int64_t opset = 0;
  std::vector<std::optional<Tensor>> inputs;
  std::vector<std::optional<Tensor>> outputs;
  bool last = false;  // its first output is a graph output and the input of no other node

  size_t size() const { return inputs.size(); }
  bool has(size_t index) const { return index < inputs.size() && inputs[index].has_value(); }
  const Tensor& in(size_t index) const;
  // Whether the node has that output.
  bool wants(size_t index) const {
    return index < node.outputs.size() && node.outputs[index] != kNone;
  }
  void set(size_t index, Tensor tensor);
  // The tensors of the node's epilogue, if it has them.
  std::optional<Tensor> bias() const { return at(node.epilogue.bias); }
  std::optional<Tensor> residual() const { return at(node.epilogue.residual); }

  bool has_attribute(const std::string& name) const { return node.attributes.count(name) != 0; }
  int64_t integer(const std::string& name, int64_t fallback) const;
  double real(const std::string& name, double fallback) const;
  std::string text(const std::string& name, const std::string& fallback) const;
  std::vector<int64_t> integers(const std::string& name) const;  // empty when absent
  std::vector<double> reals(const std::string& name) const;
  std::vector<std::string> texts(const std::string& name) const;

  // The attribute or, in later operator sets, the values of an input; nullopt if both are absent.
  std::optional<std::vector<int64_t>> integers_or_input(const std::string& name,
                                                        size_t index) const;
  // The `axis` attribute made non-negative.
  int64_t axis(int64_t fallback, int64_t rank) const;

 private:
  std::optional<Tensor> at(std::optional<size_t> index) const {
    return index ? inputs[*index] : std::nullopt;
  }
};

struct Operator {
  const char* name;
  void (*build)(OpCall& call);
};
using Operators = std::vector<Operator>;

}  // namespace dala::model
