// What the passes of the optimizer ask a graph: who computes a tensor and how often it is used,
// constants, and attributes with their defaults.
#pragma once

#include <string>
#include <vector>

#include "model/graph.hpp"

namespace dala::model {

// Nodes are named by address: good until nodes are added or taken away.
struct Uses {
  std::vector<Node*> producer;
  std::vector<size_t> count;  // by nodes and as outputs

  // The node that computes a tensor which nobody but one node uses; null: there is none like that.
  Node* only_for_one(TensorId id) const;
};
Uses uses_of(Graph& graph);

// Of ONNX itself, by that name.
bool is(const Node* node, const char* op);

const HostTensor* constant(const Graph& graph, TensorId id);  // null: it is none
// The only element of a constant.
std::optional<double> number_of(const Graph& graph, TensorId id);
TensorId add_constant(Graph& graph, const std::string& name, HostTensorPtr values);
TensorId add_tensor(Graph& graph, const std::string& name);

int64_t integer_of(const Node& node, const char* name, int64_t fallback);
double real_of(const Node& node, const char* name, double fallback);
std::string text_of(const Node& node, const char* name, const char* fallback);
std::vector<int64_t> integers_of(const Node& node, const char* name);

}  // namespace dala::model
