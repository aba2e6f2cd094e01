#include "model/build/walk.hpp"

#include <optional>
#include <set>
#include <utility>

#include "model/graph/problem.hpp"
#include "model/ops/table.hpp"

namespace dala::model {
namespace {

using Tensors = std::vector<std::optional<Tensor>>;

void call_operator(Build& build, const Graph& graph, const Node& node, Tensors& tensors,
                   const std::vector<size_t>& uses, bool last) {
  OpCall call{build, node, graph.opset, {}, {}};
  call.last = last;
  for (TensorId id : node.inputs) {
    call.inputs.push_back(id == kNone ? std::nullopt : tensors[static_cast<size_t>(id)]);
  }
  build.set_layer(describe(node));
  try {
    find_operator(node.op)->build(call);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const TensorId id = node.outputs[i];
      if (id == kNone || uses[static_cast<size_t>(id)] == 0) continue;
      if (i >= call.outputs.size() || !call.outputs[i]) {
        unsupported(text("there is no output ", i));
      }
      tensors[static_cast<size_t>(id)] = std::move(call.outputs[i]);
    }
  } catch (const Error& problem) {
    throw Error(problem.reason, text(describe(node), ": ", problem.message), problem.details);
  }
}

}  // namespace

std::vector<Tensor> walk(Build& build, const Graph& graph, const std::vector<Tensor>& inputs,
                         bool nested) {
  Tensors tensors(graph.names.size());
  for (const auto& [id, values] : graph.constants) {
    tensors[static_cast<size_t>(id)] = build.constant(values);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    tensors[static_cast<size_t>(graph.inputs[i].tensor)] = inputs[i];
  }
  std::vector<size_t> uses(graph.names.size(), 0);
  for (const Node& node : graph.nodes) {
    for (TensorId id : node.inputs) {
      if (id != kNone) ++uses[static_cast<size_t>(id)];
    }
  }
  std::set<TensorId> last;
  for (const Port& port : graph.outputs) {
    if (++uses[static_cast<size_t>(port.tensor)] == 1 && !nested) last.insert(port.tensor);
  }
  for (const Node& node : graph.nodes) {
    const bool is_last = !node.outputs.empty() && last.count(node.outputs[0]) != 0;
    call_operator(build, graph, node, tensors, uses, is_last);
    // Tensors are released after their last use, so that a run step by step frees its memory.
    for (TensorId id : node.inputs) {
      if (id != kNone && --uses[static_cast<size_t>(id)] == 0) {
        tensors[static_cast<size_t>(id)].reset();
      }
    }
  }
  std::vector<Tensor> outputs;
  for (const Port& port : graph.outputs) {
    outputs.push_back(*tensors[static_cast<size_t>(port.tensor)]);
  }
  return outputs;
}

}  // namespace dala::model
