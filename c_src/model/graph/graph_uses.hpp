// Queries for the optimizer's passes: the producer and use count of each tensor, constants, and
// attributes with defaults.
#pragma once

#include <string>
#include <vector>

#include "model/graph/graph.hpp"

namespace dala::model {

// Holds pointers to nodes, so it is invalidated when nodes are added or removed.
struct Uses {
  std::vector<Node*> producer;
  std::vector<size_t> count;  // uses by nodes and as graph output

  // The producer of a tensor that is used exactly once, or null.
  Node* single_use_producer(TensorId id) const;
};
Uses uses_of(Graph& graph);

// Whether the node is the operator `op` of the default ONNX domain.
bool is(const Node* node, const char* op);

const HostTensor* constant(const Graph& graph, TensorId id);  // null if it is not a constant
// The value of a constant with one element.
std::optional<double> number_of(const Graph& graph, TensorId id);
TensorId add_constant(Graph& graph, const std::string& name, HostTensorPtr values);
TensorId add_tensor(Graph& graph, const std::string& name);

// Moves a node to the position of `to`, whose outputs it computes from then on. It leaves a node
// without outputs, which the pass removes.
void move_node(Node& from, Node& to);

int64_t integer_of(const Node& node, const char* name, int64_t fallback);
double real_of(const Node& node, const char* name, double fallback);
std::string text_of(const Node& node, const char* name, const char* fallback);
std::vector<int64_t> integers_of(const Node& node, const char* name);

}  // namespace dala::model
