// The LSTM of ONNX Runtime with weights in bytes.
#pragma once

#include <vector>

#include "model/graph/graph.hpp"

namespace dala::model::onnx {

// Appends the nodes that stand for a node com.microsoft.DynamicQuantizeLSTM.
void lower_quantized_lstm(Graph& graph, Node node, std::vector<Node>& nodes);

}  // namespace dala::model::onnx
