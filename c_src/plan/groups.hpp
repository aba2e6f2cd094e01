// Selects the nodes of a plan that run together in one kernel.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plan/node.hpp"

namespace dala::plan {

struct Group {
  std::vector<size_t> nodes;  // in order
  std::string options;        // build options that suit every body
};

// All nodes in groups, in a valid order of execution: the nodes of a group are consecutive, or the
// nodes between them use none of their values. They have the same loop and the same positions, and
// are connected by values.
std::vector<Group> group_nodes(const std::vector<Node>& nodes);

}  // namespace dala::plan
