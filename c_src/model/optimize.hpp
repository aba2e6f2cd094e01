// Rewrites of a graph that leave its results as they are, apart from rounding: nodes that nobody
// needs go, what exporters took apart is put together, and padding, batch normalization, a sum with
// another tensor and an activation become part of the convolution beside them.
#pragma once

#include "model/graph.hpp"

namespace dala::model {

Graph optimized(Graph graph);

}  // namespace dala::model
