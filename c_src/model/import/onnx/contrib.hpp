// Operators of ONNX Runtime's own domain, com.microsoft, which its optimizer writes.
#pragma once

#include "model/graph/graph.hpp"

namespace dala::model::onnx {

// Replaces FusedConv, FusedGemm, DynamicQuantizeLSTM and the operators of quantized_operators.hpp
// by the operators that they stand for, and moves those that are implemented to the default domain.
// Other nodes keep their domain.
void lower_contrib(Graph& graph);

}  // namespace dala::model::onnx
