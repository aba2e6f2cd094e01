// Graph optimizations that preserve results up to rounding: dead nodes are removed, decomposed
// operators are merged, and padding, batch normalization, a residual and an activation are fused
// into the adjacent convolution.
#pragma once

#include "model/graph/graph.hpp"

namespace dala::model {

Graph optimized(Graph graph);

}  // namespace dala::model
