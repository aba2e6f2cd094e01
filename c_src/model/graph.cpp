#include "model/graph.hpp"

#include "runtime/error.hpp"

namespace dala::model {
namespace {

[[noreturn]] void reject(const std::string& problem) {
  throw Error(Reason::invalid_model, problem);
}

}  // namespace

std::string operator_name(const Node& node) {
  return node.domain.empty() ? node.op : node.domain + "." + node.op;
}

std::string describe(const Node& node) {
  const std::string op = operator_name(node);
  return node.name.empty() ? op : text(op, " (", node.name, ")");
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
