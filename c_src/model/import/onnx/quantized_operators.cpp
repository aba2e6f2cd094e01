#include "model/import/onnx/quantized_operators.hpp"

#include <string>
#include <utility>

#include "model/graph/graph_uses.hpp"
#include "model/import/onnx/block_weights.hpp"
#include "runtime/error.hpp"

namespace dala::model::onnx {
namespace {

// Appends nodes in place of one node, under its name.
class Lowering {
 public:
  Lowering(Graph& graph, Node& node, std::vector<Node>& nodes)
      : graph_(graph), node_(node), nodes_(nodes) {}

  bool has(size_t index) const { return in(index) != kNone; }
  TensorId in(size_t index) const {
    return index < node_.inputs.size() ? node_.inputs[index] : kNone;
  }
  const HostTensor* known(size_t index) const {
    return has(index) ? constant(graph_, in(index)) : nullptr;
  }
  const Node& node() const { return node_; }
  Graph& graph() { return graph_; }

  std::vector<TensorId> add(const std::string& op, std::vector<TensorId> inputs, size_t results,
                            std::map<std::string, Attribute> attributes = {}) {
    while (!inputs.empty() && inputs.back() == kNone) inputs.pop_back();
    Node next;
    next.op = op;
    next.name = node_.name;
    next.inputs = std::move(inputs);
    next.attributes = std::move(attributes);
    for (size_t i = 0; i < results; ++i) {
      next.outputs.push_back(
          add_tensor(graph_, text(node_.name, " ", op, " ", nodes_.size(), ".", i)));
    }
    nodes_.push_back(std::move(next));
    return nodes_.back().outputs;
  }
  TensorId add(const std::string& op, std::vector<TensorId> inputs,
               std::map<std::string, Attribute> attributes = {}) {
    return add(op, std::move(inputs), 1, std::move(attributes))[0];
  }
  // The last node gives the result of the lowered one.
  void finish() { nodes_.back().outputs = {node_.outputs.at(0)}; }
  void refuse(std::string why) {
    node_.unreadable = std::move(why);
    nodes_.push_back(std::move(node_));
  }

 private:
  Graph& graph_;
  Node& node_;
  std::vector<Node>& nodes_;
};

// The tensor at `first`, with its scale and zero point after it, as floats.
TensorId real(Lowering& lower, size_t first) {
  return lower.add("DequantizeLinear", {lower.in(first), lower.in(first + 1), lower.in(first + 2)});
}

// Ends with the result as bytes, whose scale and zero point are at `scale`.
void end_quantized(Lowering& lower, TensorId result, size_t scale) {
  lower.add("QuantizeLinear", {result, lower.in(scale), lower.in(scale + 1)});
  lower.finish();
}

// Sums of products of bytes as floats, with the scales of both sides and a bias.
void end_product(Lowering& lower, TensorId sums, TensorId a_scale, TensorId b_scale,
                 TensorId bias) {
  Attribute to_float;
  to_float.integer = static_cast<int64_t>(ElementType::f32);
  const TensorId scale = lower.add("Mul", {a_scale, b_scale});
  const TensorId floats = lower.add("Cast", {sums}, {{"to", to_float}});
  const TensorId product = lower.add("Mul", {floats, scale});
  if (bias != kNone) lower.add("Add", {product, bias});
  lower.finish();
}

// a, b, scale of a, scale of b, zero point of a, zero point of b, bias.
void product_to_float(Lowering& lower) {
  const TensorId sums =
      lower.add("MatMulInteger", {lower.in(0), lower.in(1), lower.in(4), lower.in(5)});
  end_product(lower, sums, lower.in(2), lower.in(3), lower.in(6));
}

// a (floats), b, scale of b, zero point of b, bias.
void dynamic_product(Lowering& lower) {
  const auto a = lower.add("DynamicQuantizeLinear", {lower.in(0)}, 3);
  const TensorId sums = lower.add("MatMulInteger", {a[0], lower.in(1), a[2], lower.in(3)});
  end_product(lower, sums, a[1], lower.in(2), lower.in(4));
}

// a, b, scales, zero points, order of the rows, bias.
void block_product(Lowering& lower) {
  if (lower.has(4)) return lower.refuse("weights in another order (g_idx)");
  if (lower.known(1) == nullptr || lower.known(2) == nullptr ||
      (lower.has(3) && lower.known(3) == nullptr)) {
    return lower.refuse("weights that are not constants");
  }
  BlockWeights weights;
  weights.rows = integer_of(lower.node(), "K", 0);
  weights.columns = integer_of(lower.node(), "N", 0);
  weights.bits = integer_of(lower.node(), "bits", 4);
  weights.block = integer_of(lower.node(), "block_size", 0);
  weights.packed = lower.known(1);
  weights.scales = lower.known(2);
  weights.zeros = lower.known(3);
  std::string problem;
  HostTensorPtr matrix = unpacked(weights, problem);
  if (matrix == nullptr) return lower.refuse(std::move(problem));
  const TensorId b =
      add_constant(lower.graph(), lower.graph().name_of(lower.in(1)) + " as floats", matrix);
  const TensorId product = lower.add("MatMul", {lower.in(0), b});
  if (lower.has(5)) lower.add("Add", {product, lower.in(5)});
  lower.finish();
}

// Scale and zero point of the result, then each input with its own.
void concatenation(Lowering& lower) {
  std::vector<TensorId> parts;
  for (size_t i = 2; i + 2 < lower.node().inputs.size(); i += 3) parts.push_back(real(lower, i));
  end_quantized(lower, lower.add("Concat", std::move(parts), lower.node().attributes), 0);
}

}  // namespace

bool lower_quantized(Graph& graph, Node& node, std::vector<Node>& nodes) {
  Lowering lower(graph, node, nodes);
  const std::string op = node.op;
  if (node.outputs.size() != 1) return false;
  if (op == "MatMulNBits") return block_product(lower), true;
  if (op == "MatMulIntegerToFloat") return product_to_float(lower), true;
  if (op == "DynamicQuantizeMatMul") return dynamic_product(lower), true;
  if (op == "QLinearConcat") return concatenation(lower), true;
  if (op == "QLinearAdd" || op == "QLinearMul") {
    const TensorId a = real(lower, 0);
    end_quantized(lower, lower.add(op.substr(7), {a, real(lower, 3)}), 6);
    return true;
  }
  if (op == "QLinearSigmoid" || op == "QLinearLeakyRelu" || op == "QLinearGlobalAveragePool" ||
      op == "QLinearAveragePool" || op == "QLinearSoftmax") {
    if (integer_of(node, "channels_last", 0) != 0) {
      lower.refuse("channels_last");
      return true;
    }
    const TensorId x = real(lower, 0);
    auto attributes = node.attributes;
    attributes.erase("channels_last");
    attributes.erase("opset");
    end_quantized(lower, lower.add(op.substr(7), {x}, std::move(attributes)), 3);
    return true;
  }
  return false;
}

}  // namespace dala::model::onnx
