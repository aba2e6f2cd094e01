// Fusion: adjacent pointwise nodes become one node with a generated kernel.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/planner.hpp"
#include "plan/node.hpp"

namespace dala::plan {

// A node of the result, and the nodes that it replaces. A node without outputs need not run: no
// value that it would write is ever read.
struct Fused {
  Node node;
  std::vector<size_t> members;
  std::string options;  // of the generated kernel
};

// The nodes, fused where possible unless `fuse` is false. Results, and the content of every value
// that is not temporary, are those of running the nodes one by one; dead stores are removed.
std::vector<Fused> fused(const std::vector<Node>& nodes, Planner& planner, bool fuse);

// The fused node again, after a change of a member's parameters alone.
Node fused_again(const std::vector<Node>& nodes, const std::vector<size_t>& members,
                 const std::string& options, Planner& planner);

}  // namespace dala::plan
