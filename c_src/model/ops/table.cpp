#include "model/ops/table.hpp"

#include <map>

#include "model/import/common/operator_table.hpp"
#include "model/ops/families.hpp"

namespace dala::model {
namespace {

const OperatorTable<Operator>& table() {
  static const OperatorTable<Operator> all{
      arithmetic_operators(),    constant_operators(),
      control_operators(),       convolution_operators(),
      detection_operators(),     determinant_operators(),
      experimental_operators(),  feature_operators(),
      fourier_operators(),       indexing_operators(),
      linear_operators(),        list_operators(),
      loss_operators(),          movement_operators(),
      normalization_operators(), pooling_operators(),
      quantization_operators(),  recurrent_operators(),
      reduction_operators(),     resize_operators(),
      selection_operators(),     transposed_convolution_operators()};
  return all;
}

}  // namespace

const Operator* find_operator(const std::string& name) { return table().find(name); }

std::vector<std::string> operator_names() { return table().names(); }

namespace {

using Missing = std::map<std::string, std::vector<std::string>>;  // nodes by operator

void collect_missing(const Graph& graph, Missing& missing) {
  for (const Node& node : graph.nodes) {
    for (const auto& [name, attribute] : node.attributes) {
      if (attribute.graph != nullptr) collect_missing(attribute.graph->graph, missing);
    }
    const bool known = node.domain.empty() && find_operator(node.op) != nullptr;
    if (known && node.unreadable.empty()) continue;
    std::string what = operator_name(node);
    if (!node.unreadable.empty()) what += text(" with ", node.unreadable);
    missing[what].push_back(node.name.empty() ? "an unnamed node" : node.name);
  }
}

}  // namespace

void check_operators(const Graph& graph) {
  Missing missing;
  collect_missing(graph, missing);
  if (missing.empty()) return;
  constexpr size_t kShown = 5;
  std::string listed;
  std::vector<std::string> names;
  for (auto& [what, nodes] : missing) {
    names.push_back(what);
    const size_t all = nodes.size();
    if (all > kShown) {
      nodes.resize(kShown);
      nodes.push_back(text(all - kShown, " more"));
    }
    listed += text(listed.empty() ? "" : "; ", what, " (", join(nodes, ", "), ")");
  }
  throw Error(
      Reason::unsupported_op,
      text("the model uses ", missing.size() == 1 ? "an operator that is" : "operators that are",
           " not supported: ", listed),
      {{"operators", join(names, ", ")}});
}

}  // namespace dala::model
