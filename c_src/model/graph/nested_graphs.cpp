#include "model/graph/nested_graphs.hpp"

#include <utility>

namespace dala::model {
namespace {

Subgraph with_constants(const Graph& graph, const Node& node, Subgraph nested) {
  const size_t passed = nested.passed();
  std::vector<Port> inputs(nested.graph.inputs.begin(),
                           nested.graph.inputs.begin() + static_cast<long>(passed));
  std::vector<size_t> captures;
  for (size_t i = 0; i < nested.captures.size(); ++i) {
    Port& port = nested.graph.inputs[passed + i];
    const auto found = graph.constants.find(node.inputs[nested.captures[i]]);
    if (found != graph.constants.end()) {
      nested.graph.constants[port.tensor] = found->second;
      continue;
    }
    inputs.push_back(std::move(port));
    captures.push_back(nested.captures[i]);
  }
  nested.graph.inputs = std::move(inputs);
  nested.captures = std::move(captures);
  return nested;
}

}  // namespace

void rewrite_nested(Graph& graph, const std::function<Graph(Graph)>& pass) {
  for (Node& node : graph.nodes) {
    for (auto& [name, attribute] : node.attributes) {
      if (attribute.graph == nullptr) continue;
      Subgraph nested = with_constants(graph, node, *attribute.graph);
      nested.graph = pass(std::move(nested.graph));
      attribute.graph = std::make_shared<const Subgraph>(std::move(nested));
    }
  }
}

}  // namespace dala::model
