// Planning node by node: the operators of a graph, and of the graphs in its nodes, are called in
// order.
#pragma once

#include <vector>

#include "model/build/build.hpp"
#include "model/graph/graph.hpp"

namespace dala::model {

// The outputs of a graph for these inputs. They may be inputs or constants, or the same tensor.
std::vector<Tensor> walk(Build& build, const Graph& graph, const std::vector<Tensor>& inputs,
                         bool nested = false);

}  // namespace dala::model
