#include "model/passes/merge_patterns.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/graph/graph_uses.hpp"

namespace dala::model {
namespace {

bool close(const std::optional<double>& number, double wanted) {
  return number && std::fabs(*number - wanted) < 1e-4 * std::fabs(wanted);
}

// The other input of a binary node if one input is a scalar constant close to `wanted`.
TensorId other_than(const Graph& graph, const Node& node, double wanted) {
  if (node.inputs.size() != 2) return kNone;
  for (size_t i = 0; i < 2; ++i) {
    if (close(number_of(graph, node.inputs[i]), wanted)) return node.inputs[1 - i];
  }
  return kNone;
}

// The other factor if the node is a product with the tensor `id`, or kNone.
TensorId factor_beside(const Node* node, TensorId id) {
  if (!is(node, "Mul") || node->inputs.size() != 2) return kNone;
  if (node->inputs[0] == id) return node->inputs[1];
  return node->inputs[1] == id ? node->inputs[0] : kNone;
}

// Merges x * gate(x), the way exporters write SiLU and HardSwish, into one node.
void merge_gate(const Uses& uses, Node& node) {
  if (!is(&node, "Mul") || node.inputs.size() != 2) return;
  for (size_t i = 0; i < 2; ++i) {
    const Node* gate = uses.single_use_producer(node.inputs[i]);
    const TensorId other = node.inputs[1 - i];
    if (gate == nullptr || !gate->domain.empty() || other == kNone || gate->inputs.size() != 1 ||
        gate->inputs[0] != other) {
      continue;
    }
    const bool silu = gate->op == "Sigmoid";
    const bool hard = gate->op == "HardSigmoid" && real_of(*gate, "beta", 0.5) == 0.5 &&
                      std::fabs(real_of(*gate, "alpha", 0.2) - 1.0 / 6) < 1e-6;
    if (!silu && !hard) continue;
    node.op = silu ? "Silu" : "HardSwish";
    node.inputs = {other};
    return;
  }
}

// Merges x * min(max(x + 3, 0), 6) / 6, with the factors in any order, into HardSwish. `node` is
// the last operation.
void merge_hard_swish(const Graph& graph, const Uses& uses, Node& node) {
  const auto clipped = [&](TensorId id) -> TensorId {
    const Node* clip = uses.single_use_producer(id);
    if (!is(clip, "Clip") || clip->inputs.size() != 3 || number_of(graph, clip->inputs[1]) != 0.0 ||
        number_of(graph, clip->inputs[2]) != 6.0) {
      return kNone;
    }
    const Node* sum = uses.single_use_producer(clip->inputs[0]);
    return is(sum, "Add") ? other_than(graph, *sum, 3) : kNone;
  };
  // The tensor that `part` divides by 6, as a division or as a product with 1/6.
  const auto sixth = [&](const Node* part) -> TensorId {
    if (is(part, "Mul")) return other_than(graph, *part, 1.0 / 6);
    const bool divided =
        is(part, "Div") && part->inputs.size() == 2 && number_of(graph, part->inputs[1]) == 6.0;
    return divided ? part->inputs[0] : kNone;
  };
  TensorId x = kNone;
  if (const TensorId whole = sixth(&node); whole != kNone) {
    const Node* product = uses.single_use_producer(whole);
    for (size_t i = 0; is(product, "Mul") && product->inputs.size() == 2 && i < 2; ++i) {
      if (clipped(product->inputs[i]) == product->inputs[1 - i]) x = product->inputs[1 - i];
    }
  } else if (is(&node, "Mul") && node.inputs.size() == 2) {
    for (size_t i = 0; i < 2; ++i) {
      const TensorId inner = sixth(uses.single_use_producer(node.inputs[i]));
      if (inner != kNone && clipped(inner) == node.inputs[1 - i]) x = node.inputs[1 - i];
    }
  }
  if (x == kNone) return;
  node.op = "HardSwish";
  node.inputs = {x};
  node.attributes.clear();
}

// Merges x * (1 + erf(x / sqrt(2))) / 2, with the factor 1/2 in any place, into Gelu.
void merge_gelu(const Graph& graph, const Uses& uses, Node& node) {
  // x if the tensor is 1 + erf(x / sqrt(2)).
  const auto inside = [&](TensorId id) -> TensorId {
    const Node* sum = uses.single_use_producer(id);
    const TensorId left = is(sum, "Add") ? other_than(graph, *sum, 1) : kNone;
    const Node* erf = uses.single_use_producer(left);
    if (!is(erf, "Erf") || erf->inputs.size() != 1) return kNone;
    const Node* scaled = uses.single_use_producer(erf->inputs[0]);
    if (is(scaled, "Mul")) return other_than(graph, *scaled, std::sqrt(0.5));
    const bool divided = is(scaled, "Div") && scaled->inputs.size() == 2 &&
                         close(number_of(graph, scaled->inputs[1]), std::sqrt(2.0));
    return divided ? scaled->inputs[0] : kNone;
  };
  const auto half_of = [&](TensorId id) -> TensorId {
    const Node* half = uses.single_use_producer(id);
    return is(half, "Mul") ? other_than(graph, *half, 0.5) : kNone;
  };
  if (!is(&node, "Mul") || node.inputs.size() != 2) return;
  TensorId x = kNone;
  if (const TensorId whole = other_than(graph, node, 0.5); whole != kNone) {
    const Node* product = uses.single_use_producer(whole);
    for (size_t i = 0; is(product, "Mul") && product->inputs.size() == 2 && i < 2; ++i) {
      const TensorId found = inside(product->inputs[i]);
      if (found != kNone && factor_beside(product, product->inputs[i]) == found) x = found;
    }
  }
  for (size_t i = 0; x == kNone && i < 2; ++i) {
    const TensorId one = node.inputs[i];
    const TensorId other = node.inputs[1 - i];
    const TensorId found = inside(one);
    const TensorId halved = inside(half_of(one));
    if (found != kNone && half_of(other) == found) x = found;
    if (halved != kNone && other == halved) x = halved;
  }
  if (x == kNone) return;
  node.op = "Gelu";
  node.inputs = {x};
  node.attributes.clear();
}

// The tensor whose mean over the last axis, with keepdims, the node computes.
TensorId mean_of(const Graph& graph, const Node* node) {
  if (!is(node, "ReduceMean") || node->inputs.empty() || integer_of(*node, "keepdims", 1) != 1) {
    return kNone;
  }
  std::vector<int64_t> axes = integers_of(*node, "axes");
  if (node->inputs.size() > 1 && axes.empty()) {
    const HostTensor* given = constant(graph, node->inputs[1]);
    if (given != nullptr) axes = given->integers();
  }
  return axes == std::vector<int64_t>{-1} ? node->inputs[0] : kNone;
}

// Merges (x - mean) / sqrt(variance + epsilon) * scale + shift over the last axis into
// LayerNormalization. `node` is the final addition.
void merge_layer_norm(const Graph& graph, const Uses& uses, Node& node) {
  const auto row = [&](TensorId id) {
    const HostTensor* values = constant(graph, id);
    return values != nullptr && values->shape.size() == 1 && is_float(values->type);
  };
  if (!is(&node, "Add") || node.inputs.size() != 2) return;
  for (size_t i = 0; i < 2; ++i) {
    const TensorId shift = node.inputs[i];
    const Node* product = uses.single_use_producer(node.inputs[1 - i]);
    if (!row(shift) || !is(product, "Mul") || product->inputs.size() != 2) continue;
    const size_t s = row(product->inputs[0]) ? 0 : 1;
    const TensorId scale = product->inputs[s];
    const Node* divided = uses.single_use_producer(product->inputs[1 - s]);
    if (!row(scale) || !is(divided, "Div") || divided->inputs.size() != 2 ||
        constant(graph, scale)->count() != constant(graph, shift)->count()) {
      continue;
    }
    const TensorId centered = divided->inputs[0];
    const Node* root = uses.single_use_producer(divided->inputs[1]);
    const Node* sum = is(root, "Sqrt") ? uses.single_use_producer(root->inputs[0]) : nullptr;
    if (!is(sum, "Add") || sum->inputs.size() != 2) continue;
    const size_t e = number_of(graph, sum->inputs[0]) ? 0 : 1;
    const auto epsilon = number_of(graph, sum->inputs[e]);
    const Node* square =
        uses.single_use_producer(mean_of(graph, uses.single_use_producer(sum->inputs[1 - e])));
    const bool squared =
        (is(square, "Pow") && square->inputs.size() == 2 && square->inputs[0] == centered &&
         number_of(graph, square->inputs[1]) == 2.0) ||
        (is(square, "Mul") && square->inputs == std::vector<TensorId>{centered, centered});
    const Node* difference =
        centered == kNone ? nullptr : uses.producer[static_cast<size_t>(centered)];
    if (!epsilon || !squared || !is(difference, "Sub") || difference->inputs.size() != 2) continue;
    const TensorId x = difference->inputs[0];
    if (mean_of(graph, uses.single_use_producer(difference->inputs[1])) != x) continue;
    node.op = "LayerNormalization";
    node.inputs = {x, scale, shift};
    node.attributes.clear();
    node.attributes["axis"].integer = -1;
    node.attributes["epsilon"].real = *epsilon;
    return;
  }
}

// Fuses matmul + row: the row becomes the bias of the product.
void take_bias(const Graph& graph, const Uses& uses, Node& node) {
  if (!is(&node, "Add") || node.inputs.size() != 2 || !node.attributes.empty()) return;
  for (size_t i = 0; i < 2; ++i) {
    Node* product = uses.single_use_producer(node.inputs[i]);
    const TensorId id = node.inputs[1 - i];
    const HostTensor* row = constant(graph, id);
    if (!is(product, "MatMul") || product->inputs.size() != 2 || row == nullptr) continue;
    const HostTensor* right = constant(graph, product->inputs[1]);
    if (right == nullptr || right->shape.size() != 2 || row->shape.size() != 1 ||
        right->type != row->type || row->count() != right->shape[1]) {
      continue;
    }
    // The product moves to the position of the sum, where the row is known to be available.
    move_node(*product, node);
    node.epilogue.bias = node.inputs.size();
    node.inputs.push_back(id);
    return;
  }
}

// Fuses ReLU and ReLU6, the activations that the matmul kernel supports, into the product.
void take_activation(const Graph& graph, const Uses& uses, Node& node) {
  const bool relu = is(&node, "Relu");
  const bool relu6 = is(&node, "Clip") && node.inputs.size() == 3 &&
                     number_of(graph, node.inputs[1]) == 0.0 &&
                     number_of(graph, node.inputs[2]) == 6.0;
  if ((!relu && !relu6) || node.inputs.empty()) return;
  Node* product = uses.single_use_producer(node.inputs[0]);
  if ((!is(product, "MatMul") && !is(product, "Gemm")) || product->epilogue.activation) {
    return;
  }
  move_node(*product, node);
  node.epilogue.activation.kind = relu ? Activation::Kind::relu : Activation::Kind::relu6;
}

void remove_emptied(Graph& graph) {
  std::erase_if(graph.nodes, [](const Node& node) { return node.outputs.empty(); });
}

}  // namespace

void merge_patterns(Graph& graph) {
  {
    const Uses uses = uses_of(graph);
    for (Node& node : graph.nodes) {
      merge_gate(uses, node);
      merge_hard_swish(graph, uses, node);
      merge_gelu(graph, uses, node);
      merge_layer_norm(graph, uses, node);
    }
  }
  // Each of these passes moves nodes, so the uses have to be recomputed.
  for (auto take : {take_bias, take_activation}) {
    const Uses uses = uses_of(graph);
    for (Node& node : graph.nodes) take(graph, uses, node);
    remove_emptied(graph);
  }
}

}  // namespace dala::model
