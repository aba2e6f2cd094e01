// A pass that moves transposes behind elementwise operators and padding, so that these become
// adjacent to the convolutions into which they can be fused, and merges consecutive transposes. The
// position of a transpose does not affect its cost: it becomes a view, see views.hpp.
#pragma once

#include "model/graph/graph.hpp"

namespace dala::model {

void sink_transposes(Graph& graph);

}  // namespace dala::model
