#include "model/tflite/ops/table.hpp"

#include <map>

namespace dala::model::tflite {
namespace {

const std::map<std::string, Operator>& table() {
  static const std::map<std::string, Operator> all = [] {
    std::map<std::string, Operator> by_name;
    for (const auto& list :
         {arithmetic_operators(), comparison_operators(), detection_operators(),
          movement_operators(), plane_operators(), reduction_operators(), shape_operators()}) {
      for (const Operator& each : list) by_name.emplace(each.name, each);
    }
    return by_name;
  }();
  return all;
}

}  // namespace

const Operator* find_operator(const std::string& name) {
  const auto found = table().find(name);
  return found == table().end() ? nullptr : &found->second;
}

std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  for (const auto& [name, each] : table()) names.push_back(name);
  return names;
}

}  // namespace dala::model::tflite
