// The graph of a model: tensors, identified by number, and the nodes that compute them, in
// topological order. It is independent of the file format.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/graph/epilogue.hpp"
#include "model/graph/host_tensor.hpp"

namespace dala::model {

using TensorId = int32_t;
inline constexpr TensorId kNone = -1;  // an omitted optional input or output

struct Subgraph;

// An attribute of a node. At most one of the members is set, except that lists may be empty.
struct Attribute {
  std::optional<int64_t> integer;
  std::optional<double> real;
  std::optional<std::string> text;
  std::optional<std::vector<int64_t>> integers;
  std::optional<std::vector<double>> reals;
  std::optional<std::vector<std::string>> texts;
  HostTensorPtr tensor;
  std::shared_ptr<const Subgraph> graph;
};

struct Node {
  std::string op;
  std::string domain;  // "" is the default ONNX domain
  std::string name;    // may be empty
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  std::map<std::string, Attribute> attributes;
  Epilogue epilogue;  // set by passes
  // The part that the importer could not read, such as a graph in an attribute; usually empty.
  std::string unreadable;
};

// A dimension: fixed (size), symbolic (name), or unknown (neither).
struct Dimension {
  std::optional<int64_t> size;
  std::string name;
};

// Affine quantization: real = scale * (integer - zero_point).
struct Quantization {
  double scale = 1;
  int64_t zero_point = 0;
};

struct Port {
  std::string name;
  TensorId tensor = kNone;
  ElementType type = ElementType::f32;
  std::optional<std::vector<Dimension>> shape;  // nullopt: any rank
  std::optional<Quantization> quantization;     // set if the port is quantized
  // Of an output that is the new value of a variable: the input that takes it in the next
  // prediction.
  std::string feeds = {};
};

struct Graph {
  std::vector<std::string> names;  // of the tensors, by id
  std::vector<Port> inputs;        // without inputs that have a constant as default
  std::vector<Port> outputs;
  std::vector<Node> nodes;
  std::map<TensorId, HostTensorPtr> constants;
  int64_t opset = 0;
  std::string producer;

  const std::string& name_of(TensorId id) const { return names[static_cast<size_t>(id)]; }
};

// A graph in an attribute of a node: a branch, or the body of a loop. Its inputs are those that the
// operator passes, followed by the values captured from the graph around it, which are inputs of
// the node as well.
struct Subgraph {
  Graph graph;
  std::vector<size_t> captures;  // the node's input for each captured value

  size_t passed() const { return graph.inputs.size() - captures.size(); }
};

// For messages: "Conv" or "com.microsoft.Gelu", and the same with the node's name.
std::string operator_name(const Node& node);
std::string describe(const Node& node);

// Checks that the inputs of every node are constants, graph inputs or outputs of earlier nodes,
// which also rules out cycles, and that every tensor is computed once. Throws `invalid_model`.
void check_order(const Graph& graph);

// Sorts the nodes topologically; the order of nodes that are sorted already does not change. Throws
// `invalid_model` for a cycle. Values that no node computes are left to check_order.
void sort_nodes(Graph& graph);

// Calls `visit` for the constants of a graph and of the graphs in its nodes.
void each_constant(const Graph& graph, const std::function<void(const HostTensorPtr&)>& visit);

}  // namespace dala::model
