#include "model/graph.hpp"

#include "runtime/error.hpp"

namespace dala::model {

std::string operator_name(const Node& node) {
  return node.domain.empty() ? node.op : node.domain + "." + node.op;
}

std::string describe(const Node& node) {
  const std::string op = operator_name(node);
  return node.name.empty() ? op : text(op, " (", node.name, ")");
}

}  // namespace dala::model
