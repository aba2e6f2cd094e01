// Passes for the graphs in nodes: branches and the bodies of loops.
#pragma once

#include <functional>

#include "model/graph/graph.hpp"

namespace dala::model {

// Makes constants that nested graphs capture constants of these graphs, and then applies `pass` to
// them.
void rewrite_nested(Graph& graph, const std::function<Graph(Graph)>& pass);

}  // namespace dala::model
