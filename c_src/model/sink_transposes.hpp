// Moves transposes behind elementwise operators and padding, so that these stand next to the
// convolutions that can take them in, and joins transposes that follow each other. Whether a
// transpose is before or behind such an operator costs the same: nothing, see views.hpp.
#pragma once

#include "model/graph.hpp"

namespace dala::model {

void sink_transposes(Graph& graph);

}  // namespace dala::model
