// A model as a graph: tensors, known by number, and the nodes that compute them, in an order in
// which every node comes after those it needs. Independent of the format it was read from.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/host_tensor.hpp"

namespace dala::model {

using TensorId = int32_t;
inline constexpr TensorId kNone = -1;  // an optional input or output that is left out

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
  std::string domain;  // "" is ONNX itself
  std::string name;    // may be empty
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  std::map<std::string, Attribute> attributes;
  // Set where the file has something that is not read, such as a graph inside an attribute.
  std::string unreadable;
};

// A dimension: a number, a name, or neither.
struct Dimension {
  std::optional<int64_t> size;
  std::string name;
};

// How integers stand for real numbers: scale * (integer - zero_point).
struct Quantization {
  double scale = 1;
  int64_t zero_point = 0;
};

struct Port {
  std::string name;
  TensorId tensor = kNone;
  ElementType type = ElementType::f32;
  std::optional<std::vector<Dimension>> shape;  // none: of any rank
  std::optional<Quantization> quantization;     // where integers stand for real numbers
};

struct Graph {
  std::vector<std::string> names;  // of all tensors
  std::vector<Port> inputs;        // without those that have a constant as their default
  std::vector<Port> outputs;
  std::vector<Node> nodes;
  std::map<TensorId, HostTensorPtr> constants;
  int64_t opset = 0;
  std::string producer;

  const std::string& name_of(TensorId id) const { return names[static_cast<size_t>(id)]; }
};

// "Conv" or "com.microsoft.Gelu", and the same with the node's name, for messages.
std::string operator_name(const Node& node);
std::string describe(const Node& node);

// Every node finds its inputs among constants, inputs and what nodes before it compute, which also
// rules out cycles; every tensor is computed once. Throws `invalid_model`.
void check_order(const Graph& graph);

}  // namespace dala::model
