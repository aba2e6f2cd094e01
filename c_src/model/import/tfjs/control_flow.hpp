// The control flow of TensorFlow's first generation, in which loops and branches are cycles and
// forks of one graph:
//
//   loop     Exit <- Switch:0 <- Merge <- Enter         one of each for every variable;
//                    Switch:1 -> body -> NextIteration  its NextIteration is the other input of
//                    Merge, Merge -> condition -> LoopCond     which is the condition of every
//                    Switch
//   branch   Merge <- values that depend on Switch:0 and Switch:1 of one condition
//
// This finds the parts of a loop or a branch in the list of nodes, so that Scope can translate them
// to nodes with nested graphs.
#pragma once

#include <set>
#include <vector>

#include "model/import/tfjs/file.hpp"

namespace dala::model::tfjs {

using Nodes = std::vector<NodeDef>;

struct LoopVariable {
  size_t merge = 0;
  Source initial;  // outside of the loop
  Source next;     // in its body
};

struct Loop {
  std::vector<LoopVariable> variables;
  std::vector<size_t> switches;  // of each variable; nodes.size() if it has none
  Source condition;
};

// The loop that a node Exit leaves. Throws `invalid_model` if it has not this form.
Loop find_loop(const Nodes& nodes, size_t exit);

struct Branches {
  Source condition;
  Source yes;
  Source no;
};

// The branches that a node Merge outside of loops joins. Throws `unsupported_op` if no condition
// tells its inputs apart.
Branches find_branches(const Nodes& nodes, size_t merge);

// All nodes that depend on these, with themselves.
std::set<size_t> dependents(const Nodes& nodes, const std::vector<size_t>& roots);

// The nodes Switch with that condition.
std::vector<size_t> switches_of(const Nodes& nodes, const Source& condition);

}  // namespace dala::model::tfjs
