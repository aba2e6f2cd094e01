// The operators of a format by name, collected from the list at the end of each operator file.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace dala::model {

template <typename Operator>
class OperatorTable {
 public:
  OperatorTable(std::initializer_list<std::vector<Operator>> families) {
    for (const auto& family : families) {
      for (const Operator& each : family) by_name_.emplace(each.name, each);
    }
  }

  // Null if there is no operator of that name.
  const Operator* find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &found->second;
  }

  std::vector<std::string> names() const {  // sorted
    std::vector<std::string> names;
    for (const auto& [name, each] : by_name_) names.push_back(name);
    return names;
  }

 private:
  std::map<std::string, Operator> by_name_;
};

}  // namespace dala::model
