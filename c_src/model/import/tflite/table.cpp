#include "model/import/tflite/table.hpp"

#include "model/import/common/operator_table.hpp"

namespace dala::model::tflite {
namespace {

const OperatorTable<Operator>& table() {
  static const OperatorTable<Operator> all{
      arithmetic_operators(), comparison_operators(), control_operators(),
      detection_operators(),  movement_operators(),   plane_operators(),
      recurrent_operators(),  reduction_operators(),  shape_operators()};
  return all;
}

}  // namespace

const Operator* find_operator(const std::string& name) { return table().find(name); }

std::vector<std::string> operator_names() { return table().names(); }

}  // namespace dala::model::tflite
