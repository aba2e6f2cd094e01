#include "model/passes/fold_weights.hpp"

#include <string>
#include <utility>

#include "model/graph/graph_uses.hpp"

namespace dala::model {
namespace {

// The index of each element along an axis, for values that are one per tensor or one per index.
class Along {
 public:
  Along(const HostTensor& x, const HostTensor& values, int64_t axis) {
    const auto rank = static_cast<int64_t>(x.shape.size());
    if (axis < 0) axis += rank;
    fits_ = values.count() == 1;
    if (fits_ || axis < 0 || axis >= rank || values.shape.size() != 1) return;
    size_ = x.shape[static_cast<size_t>(axis)];
    for (int64_t d = axis + 1; d < rank; ++d) inner_ *= x.shape[static_cast<size_t>(d)];
    fits_ = values.count() == size_;
  }

  bool fits() const { return fits_; }
  int64_t index(int64_t element) const { return element / inner_ % size_; }

 private:
  bool fits_ = false;
  int64_t size_ = 1;
  int64_t inner_ = 1;
};

// (x - zero) * scale in floats; null if the parts have other shapes. Without a scale it is 1.
HostTensorPtr dequantized(const HostTensor& x, const HostTensor* scale, const HostTensor* zero,
                          int64_t axis) {
  if (is_float(x.type) || (scale != nullptr && scale->type != ElementType::f32)) return nullptr;
  const HostTensor one(ElementType::f32, {});
  const Along scales(x, scale == nullptr ? one : *scale, axis);
  const Along zeros(x, zero == nullptr ? one : *zero, axis);
  if (!scales.fits() || !zeros.fits()) return nullptr;
  auto result = std::make_shared<HostTensor>(ElementType::f32, x.shape);
  const int64_t count = x.count();
  float* const to = result->data<float>();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t shift = zero == nullptr ? 0 : zero->integer(zeros.index(i));
    const auto factor =
        scale == nullptr ? 1.0F : static_cast<float>(scale->number(scales.index(i)));
    to[i] = static_cast<float>(x.integer(i) - shift) * factor;
  }
  return result;
}

bool has_input(const Node& node, size_t index) {
  return index < node.inputs.size() && node.inputs[index] != kNone;
}

// Whether the input is absent, or a constant.
bool is_settled(const Graph& graph, const Node& node, size_t index) {
  return !has_input(node, index) || constant(graph, node.inputs[index]) != nullptr;
}

const HostTensor* known(const Graph& graph, const Node& node, size_t index) {
  return has_input(node, index) ? constant(graph, node.inputs[index]) : nullptr;
}

// The constant that a node DequantizeLinear gives; null if it is none.
HostTensorPtr dequantized(const Graph& graph, const Node& node) {
  const HostTensor* x = known(graph, node, 0);
  const HostTensor* scale = known(graph, node, 1);
  if (x == nullptr || scale == nullptr || !is_settled(graph, node, 2)) return nullptr;
  if (integer_of(node, "block_size", 0) != 0) return nullptr;
  return dequantized(*x, scale, known(graph, node, 2), integer_of(node, "axis", 1));
}

// Where the operators of products of integers have their weights, and what belongs to these.
struct IntegerWeights {
  const char* op;
  size_t weights;
  size_t zero;
  int64_t axis;  // of several zero points
};
constexpr IntegerWeights kIntegerWeights[] = {
    {"ConvInteger", 1, 3, 0},
    {"MatMulInteger", 1, 3, -1},
    {"QLinearConv", 3, 5, 0},
    {"QLinearMatMul", 3, 5, -1},
};

// Puts floats in the place of integer weights; the operators know these as shifted already.
void shift_weights(Graph& graph, Node& node) {
  for (const IntegerWeights& each : kIntegerWeights) {
    if (!is(&node, each.op)) continue;
    const HostTensor* weights = known(graph, node, each.weights);
    if (weights == nullptr || !is_settled(graph, node, each.zero)) return;
    HostTensorPtr shifted =
        dequantized(*weights, nullptr, known(graph, node, each.zero), each.axis);
    if (shifted == nullptr) return;
    const std::string name = graph.name_of(node.inputs[each.weights]) + " as floats";
    node.inputs[each.weights] = add_constant(graph, name, std::move(shifted));
  }
}

}  // namespace

void fold_weights(Graph& graph) {
  for (Node& node : graph.nodes) {
    shift_weights(graph, node);
    if (!is(&node, "DequantizeLinear") || node.outputs.size() != 1) continue;
    HostTensorPtr values = dequantized(graph, node);
    if (values == nullptr) continue;
    graph.constants[node.outputs[0]] = std::move(values);
    node.inputs.clear();
    node.outputs.clear();
  }
  std::erase_if(graph.nodes, [](const Node& node) { return node.outputs.empty(); });
}

}  // namespace dala::model
