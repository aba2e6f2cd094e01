// com.microsoft.DynamicQuantizeLSTM: an LSTM whose weights are bytes, already transposed, with
// scales. Its input is rounded to bytes here as there; the hidden state, which ONNX Runtime rounds
// at every step, is not.
#include "model/import/onnx/quantized_lstm.hpp"

#include <utility>

#include "model/graph/graph_uses.hpp"
#include "runtime/error.hpp"

namespace dala::model::onnx {
namespace {

const HostTensor* constant_input(const Graph& graph, const Node& node, size_t index) {
  return index < node.inputs.size() ? constant(graph, node.inputs[index]) : nullptr;
}

// {directions, inputs, columns} of bytes as {directions, columns, inputs} of floats. Scales and
// zero points are one per direction, or one per column. Null if the parts do not fit.
HostTensorPtr real_weights(const HostTensor* bytes, const HostTensor* scales,
                           const HostTensor* zeros) {
  if (bytes == nullptr || scales == nullptr || bytes->shape.size() != 3) return nullptr;
  const int64_t directions = bytes->shape[0];
  const int64_t inputs = bytes->shape[1];
  const int64_t columns = bytes->shape[2];
  const bool per_column = scales->count() == directions * columns;
  if (!per_column && scales->count() != directions) return nullptr;
  if (zeros != nullptr && zeros->count() != scales->count()) return nullptr;
  auto weights = std::make_shared<HostTensor>(ElementType::f32, Shape{directions, columns, inputs});
  for (int64_t d = 0; d < directions; ++d) {
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t at = per_column ? d * columns + c : d;
      const double zero = zeros == nullptr ? 0 : zeros->number(at);
      for (int64_t i = 0; i < inputs; ++i) {
        const double value = bytes->number((d * inputs + i) * columns + c) - zero;
        weights->data<float>()[(d * columns + c) * inputs + i] =
            static_cast<float>(value * scales->number(at));
      }
    }
  }
  return weights;
}

}  // namespace

void lower_quantized_lstm(Graph& graph, Node node, std::vector<Node>& nodes) {
  const auto given = [&](size_t index) { return constant_input(graph, node, index); };
  const HostTensorPtr w = real_weights(given(1), given(8), given(9));
  const HostTensorPtr r = real_weights(given(2), given(10), given(11));
  if (w == nullptr || r == nullptr || node.inputs[0] == kNone) {
    node.unreadable = "weights that are not constants";
    nodes.push_back(std::move(node));
    return;
  }
  const std::string name = graph.name_of(node.inputs[0]);
  Node rounded;
  rounded.op = "DynamicQuantizeLinear";
  rounded.name = node.name;
  rounded.inputs = {node.inputs[0]};
  for (const char* part : {" in bytes", " scale", " zero point"}) {
    rounded.outputs.push_back(add_tensor(graph, name + part));
  }
  Node back;
  back.op = "DequantizeLinear";
  back.name = node.name;
  back.inputs = rounded.outputs;
  back.outputs = {add_tensor(graph, name + " rounded")};
  node.op = "LSTM";
  node.domain.clear();
  node.inputs[0] = back.outputs[0];
  node.inputs[1] = add_constant(graph, node.name + " W", w);
  node.inputs[2] = add_constant(graph, node.name + " R", r);
  if (node.inputs.size() > 8) node.inputs.resize(8);
  nodes.push_back(std::move(rounded));
  nodes.push_back(std::move(back));
  nodes.push_back(std::move(node));
}

}  // namespace dala::model::onnx
