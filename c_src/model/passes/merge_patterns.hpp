// A pass that merges patterns of exporters: an activation or a normalization written as arithmetic
// becomes one node, and a bias or an activation after a matrix product becomes part of
// the product.
#pragma once

#include "model/graph/graph.hpp"

namespace dala::model {

void merge_patterns(Graph& graph);

}  // namespace dala::model
