// Weights of quantized layers as floats, once for all plans: the dequantized values of constants,
// and integers minus their zero points, which products of integers take.
#pragma once

#include "model/graph/graph.hpp"

namespace dala::model {

void fold_weights(Graph& graph);

}  // namespace dala::model
