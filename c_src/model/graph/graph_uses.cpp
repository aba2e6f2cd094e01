#include "model/graph/graph_uses.hpp"

#include <utility>

namespace dala::model {

Node* Uses::single_use_producer(TensorId id) const {
  if (id == kNone || count[static_cast<size_t>(id)] != 1) return nullptr;
  return producer[static_cast<size_t>(id)];
}

Uses uses_of(Graph& graph) {
  Uses uses{std::vector<Node*>(graph.names.size(), nullptr),
            std::vector<size_t>(graph.names.size(), 0)};
  for (Node& node : graph.nodes) {
    for (TensorId id : node.inputs) {
      if (id != kNone) ++uses.count[static_cast<size_t>(id)];
    }
    for (TensorId id : node.outputs) {
      if (id != kNone) uses.producer[static_cast<size_t>(id)] = &node;
    }
  }
  for (const Port& port : graph.outputs) ++uses.count[static_cast<size_t>(port.tensor)];
  return uses;
}

bool is(const Node* node, const char* op) {
  return node != nullptr && node->op == op && node->domain.empty();
}

const HostTensor* constant(const Graph& graph, TensorId id) {
  const auto found = id == kNone ? graph.constants.end() : graph.constants.find(id);
  return found == graph.constants.end() ? nullptr : found->second.get();
}

std::optional<double> number_of(const Graph& graph, TensorId id) {
  const HostTensor* values = constant(graph, id);
  if (values == nullptr || values->count() != 1) return std::nullopt;
  return values->number(0);
}

TensorId add_tensor(Graph& graph, const std::string& name) {
  graph.names.push_back(name);
  return static_cast<TensorId>(graph.names.size()) - 1;
}

TensorId add_constant(Graph& graph, const std::string& name, HostTensorPtr values) {
  const TensorId id = add_tensor(graph, name);
  graph.constants[id] = std::move(values);
  return id;
}

void move_node(Node& from, Node& to) {
  from.outputs = std::move(to.outputs);
  to = std::exchange(from, Node());
}

namespace {

template <typename T>
T attribute_of(const Node& node, const char* name, std::optional<T> Attribute::*member,
               T fallback) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? fallback : (found->second.*member).value_or(fallback);
}

}  // namespace

int64_t integer_of(const Node& node, const char* name, int64_t fallback) {
  return attribute_of(node, name, &Attribute::integer, fallback);
}

double real_of(const Node& node, const char* name, double fallback) {
  return attribute_of(node, name, &Attribute::real, fallback);
}

std::string text_of(const Node& node, const char* name, const char* fallback) {
  return attribute_of(node, name, &Attribute::text, std::string(fallback));
}

std::vector<int64_t> integers_of(const Node& node, const char* name) {
  return attribute_of(node, name, &Attribute::integers, std::vector<int64_t>());
}

}  // namespace dala::model
