// Fusion: adjacent pointwise nodes become one node with a generated kernel.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/planner.hpp"
#include "plan/node.hpp"

namespace dala::plan {

// A node of the result, and the nodes that it stands for. Without outputs it need not run: no value
// that it would write is ever read.
struct Fused {
  Node node;
  std::vector<size_t> members;
};

// The nodes, merged where they can be; `fuse` false leaves each as it is. Results, and the content
// of every value that is not temporary, are those of running the nodes one by one; stores that
// nobody can see are left out.
std::vector<Fused> fused(const std::vector<Node>& nodes, Planner& planner, bool fuse);

}  // namespace dala::plan
