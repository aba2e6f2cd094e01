#include "model/import/tfjs/table.hpp"

#include "model/import/common/operator_table.hpp"

namespace dala::model::tfjs {
namespace {

const OperatorTable<Operator>& table() {
  static const OperatorTable<Operator> all{
      arithmetic_operators(), indexing_operators(), list_operators(),     matrix_operators(),
      movement_operators(),   plane_operators(),    reduction_operators()};
  return all;
}

}  // namespace

const Operator* find_operator(const std::string& name) { return table().find(name); }

std::vector<std::string> operator_names() { return table().names(); }

}  // namespace dala::model::tfjs
