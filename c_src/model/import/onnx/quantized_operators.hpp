// Operators of com.microsoft on quantized tensors, as ONNX Runtime's quantization tools write them.
#pragma once

#include <vector>

#include "model/graph/graph.hpp"

namespace dala::model::onnx {

// Appends the nodes that the node stands for and returns true, or returns false for an operator
// that is none of these: DynamicQuantizeMatMul, MatMulIntegerToFloat, MatMulNBits, QLinearAdd,
// QLinearAveragePool, QLinearConcat, QLinearGlobalAveragePool, QLinearLeakyRelu, QLinearMul,
// QLinearSigmoid, QLinearSoftmax. A node that is used in an unsupported way becomes `unreadable`.
bool lower_quantized(Graph& graph, Node& node, std::vector<Node>& nodes);

}  // namespace dala::model::onnx
