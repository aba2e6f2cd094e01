#include "model/tfjs/table.hpp"

#include <map>

namespace dala::model::tfjs {
namespace {

const std::map<std::string, Operator>& table() {
  static const std::map<std::string, Operator> all = [] {
    std::map<std::string, Operator> result;
    for (auto family : {arithmetic_operators, indexing_operators, matrix_operators,
                        movement_operators, plane_operators, reduction_operators}) {
      for (const Operator& each : family()) result.emplace(each.name, each);
    }
    return result;
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

}  // namespace dala::model::tfjs
