// Finds what exporters took apart: an activation or a normalization written as arithmetic becomes
// one node again, and what is added to a matrix product becomes part of it.
#pragma once

#include "model/graph.hpp"

namespace dala::model {

void merge_patterns(Graph& graph);

}  // namespace dala::model
