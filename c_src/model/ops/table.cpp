#include "model/ops/table.hpp"

#include <map>

#include "model/ops/families.hpp"

namespace dala::model {
namespace {

const std::map<std::string, Operator>& table() {
  static const std::map<std::string, Operator> all = [] {
    std::map<std::string, Operator> result;
    for (auto family : {arithmetic_operators, constant_operators, convolution_operators,
                        detection_operators, indexing_operators, linear_operators, loss_operators,
                        movement_operators, normalization_operators, pooling_operators,
                        quantization_operators, recurrent_operators, reduction_operators,
                        resize_operators, selection_operators, transposed_convolution_operators}) {
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

}  // namespace dala::model
