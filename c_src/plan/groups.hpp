// Which nodes of a plan run together in one kernel.
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

// All nodes in groups, in an order in which they can run: the nodes of a group follow each other,
// or have only nodes between them that touch none of their values. They have the same loop and the
// same places, and are connected by values.
std::vector<Group> group_nodes(const std::vector<Node>& nodes);

}  // namespace dala::plan
