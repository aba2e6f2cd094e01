// Rewrites of a graph that leave its results as they are, apart from rounding: nodes that nobody
// needs go, and batch normalization, a sum with another tensor and an activation become part of the
// convolution before them.
#pragma once

#include "model/graph.hpp"

namespace dala::model {

Graph optimized(Graph graph);

}  // namespace dala::model
