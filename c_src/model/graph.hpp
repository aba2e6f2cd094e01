// The graph of a model: tensors, identified by number, and the nodes that compute them, in
// topological order. It is independent of the file format.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/host_tensor.hpp"

namespace dala::model {

using TensorId = int32_t;
inline constexpr TensorId kNone = -1;  // an omitted optional input or output

// An attribute of a node. At most one of the members is set, except that lists may be empty.
struct Attribute {
  std::optional<int64_t> integer;
  std::optional<double> real;
  std::optional<std::string> text;
  std::optional<std::vector<int64_t>> integers;
  std::optional<std::vector<double>> reals;
  std::optional<std::vector<std::string>> texts;
  HostTensorPtr tensor;
};

struct Node {
  std::string op;
  std::string domain;  // "" is the default ONNX domain
  std::string name;    // may be empty
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  std::map<std::string, Attribute> attributes;
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

// For messages: "Conv" or "com.microsoft.Gelu", and the same with the node's name.
std::string operator_name(const Node& node);
std::string describe(const Node& node);

// Checks that the inputs of every node are constants, graph inputs or outputs of earlier nodes,
// which also rules out cycles, and that every tensor is computed once. Throws `invalid_model`.
void check_order(const Graph& graph);

}  // namespace dala::model
