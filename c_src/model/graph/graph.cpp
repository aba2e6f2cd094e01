#include "model/graph/graph.hpp"

#include "model/graph/problem.hpp"

namespace dala::model {
std::string operator_name(const Node& node) {
  return node.domain.empty() ? node.op : node.domain + "." + node.op;
}

std::string describe(const Node& node) {
  const std::string op = operator_name(node);
  return node.name.empty() ? op : text(op, " (", node.name, ")");
}

void sort_nodes(Graph& graph) {
  constexpr size_t kNoNode = SIZE_MAX;
  std::vector<size_t> producer(graph.names.size(), kNoNode);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (TensorId id : graph.nodes[i].outputs) {
      if (id != kNone) producer[static_cast<size_t>(id)] = i;
    }
  }
  // A depth-first search with an explicit stack: recursion could overflow the stack of the thread.
  enum class State : uint8_t { fresh, waiting, placed };
  std::vector<State> states(graph.nodes.size(), State::fresh);
  std::vector<size_t> order;
  std::vector<size_t> stack;
  for (size_t first = 0; first < graph.nodes.size(); ++first) {
    stack.push_back(first);
    while (!stack.empty()) {
      const size_t at = stack.back();
      if (states[at] != State::fresh) {
        stack.pop_back();
        if (states[at] == State::waiting) order.push_back(at);
        states[at] = State::placed;
        continue;
      }
      states[at] = State::waiting;
      const std::vector<TensorId>& inputs = graph.nodes[at].inputs;
      for (auto id = inputs.rbegin(); id != inputs.rend(); ++id) {
        const size_t before = *id == kNone ? kNoNode : producer[static_cast<size_t>(*id)];
        if (before == kNoNode || states[before] == State::placed) continue;
        if (states[before] == State::waiting) {
          reject(text(describe(graph.nodes[at]), " needs \"", graph.name_of(*id),
                      "\", which depends on it: the graph has a cycle"));
        }
        stack.push_back(before);
      }
    }
  }
  std::vector<Node> sorted;
  sorted.reserve(order.size());
  for (size_t at : order) sorted.push_back(std::move(graph.nodes[at]));
  graph.nodes = std::move(sorted);
}

void each_constant(const Graph& graph, const std::function<void(const HostTensorPtr&)>& visit) {
  for (const auto& [id, tensor] : graph.constants) visit(tensor);
  for (const Node& node : graph.nodes) {
    for (const auto& [name, attribute] : node.attributes) {
      if (attribute.graph != nullptr) each_constant(attribute.graph->graph, visit);
    }
  }
}

void check_order(const Graph& graph) {
  std::vector<bool> known(graph.names.size(), false);
  for (const auto& [id, tensor] : graph.constants) known[static_cast<size_t>(id)] = true;
  for (const Port& port : graph.inputs) {
    if (known[static_cast<size_t>(port.tensor)]) {
      reject(text("\"", port.name, "\" is an input more than once"));
    }
    known[static_cast<size_t>(port.tensor)] = true;
  }
  for (const Node& node : graph.nodes) {
    for (TensorId input : node.inputs) {
      if (input == kNone || known[static_cast<size_t>(input)]) continue;
      reject(text(describe(node), " needs \"", graph.name_of(input),
                  "\", which no earlier node computes"));
    }
    for (TensorId output : node.outputs) {
      if (output == kNone) continue;
      if (known[static_cast<size_t>(output)]) {
        reject(text("\"", graph.name_of(output), "\" is computed more than once"));
      }
      known[static_cast<size_t>(output)] = true;
    }
  }
  for (const Port& port : graph.outputs) {
    if (!known[static_cast<size_t>(port.tensor)]) {
      reject(text("no node computes the output \"", port.name, "\""));
    }
  }
}

}  // namespace dala::model
