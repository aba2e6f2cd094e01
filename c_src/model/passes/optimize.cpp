#include "model/passes/optimize.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/graph/graph_uses.hpp"
#include "model/graph/nested_graphs.hpp"
#include "model/passes/fold_weights.hpp"
#include "model/passes/merge_patterns.hpp"
#include "model/passes/pack_recurrent.hpp"
#include "model/passes/sink_transposes.hpp"

namespace dala::model {
namespace {

void remove_dead_nodes(Graph& graph) {
  std::vector<bool> needed(graph.names.size(), false);
  for (const Port& port : graph.outputs) needed[static_cast<size_t>(port.tensor)] = true;
  std::vector<Node> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool used = std::any_of(node->outputs.begin(), node->outputs.end(), [&](TensorId id) {
      return id != kNone && needed[static_cast<size_t>(id)];
    });
    if (!used) continue;
    for (TensorId id : node->inputs) {
      if (id != kNone) needed[static_cast<size_t>(id)] = true;
    }
    kept.push_back(std::move(*node));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
  std::erase_if(graph.constants,
                [&](const auto& entry) { return !needed[static_cast<size_t>(entry.first)]; });
}

// The convolution that computes `id`, if `node` is its only use and it has no activation yet.
Node* convolution_before(const Uses& uses, const Node& node, TensorId id) {
  Node* before = uses.single_use_producer(id);
  if (!is(before, "Conv") || before == &node || before->outputs.size() != 1 ||
      before->inputs.size() < 2 || before->epilogue.activation) {
    return nullptr;
  }
  return before;
}

// The node before that can take an activation: a convolution, or a batch normalization that was not
// folded into one.
Node* activated_before(const Uses& uses, const Node& node, TensorId id) {
  Node* before = uses.single_use_producer(id);
  if (is(before, "BatchNormalization") && before != &node && before->outputs.size() == 1 &&
      !before->epilogue.activation) {
    return before;
  }
  return convolution_before(uses, node, id);
}

// A factor and a shift per output channel of a convolution.
struct Affine {
  std::vector<double> factor;
  std::vector<double> shift;
};

// A batch normalization as factor and shift; nullopt if its parameters are not constants, or not of
// `channels` elements.
std::optional<Affine> affine_of_norm(const Graph& graph, const Node& norm, int64_t channels) {
  const HostTensor* params[4];
  for (size_t i = 0; i < 4; ++i) {
    params[i] = norm.inputs.size() > i + 1 ? constant(graph, norm.inputs[i + 1]) : nullptr;
    if (params[i] == nullptr || params[i]->count() != channels ||
        params[i]->type != ElementType::f32) {
      return std::nullopt;
    }
  }
  const bool single = std::all_of(norm.outputs.begin() + 1, norm.outputs.end(),
                                  [](TensorId id) { return id == kNone; });
  if (!single || integer_of(norm, "training_mode", 0) != 0) return std::nullopt;
  const double small = real_of(norm, "epsilon", 1e-5);
  Affine affine;
  for (int64_t c = 0; c < channels; ++c) {
    const double factor = params[0]->number(c) / std::sqrt(params[3]->number(c) + small);
    affine.factor.push_back(factor);
    affine.shift.push_back(params[1]->number(c) - params[2]->number(c) * factor);
  }
  return affine;
}

// Arithmetic with a constant of shape {c, 1, ..} or a scalar as factor and shift.
std::optional<Affine> affine_of_arithmetic(const Graph& graph, const Node& node, size_t conv_input,
                                           int64_t channels, size_t rank) {
  const HostTensor* values = constant(graph, node.inputs[1 - conv_input]);
  if (values == nullptr || !is_float(values->type) || values->shape.size() > rank) {
    return std::nullopt;
  }
  const bool one = values->count() == 1;
  const size_t leading = rank - values->shape.size();  // the channel axis is 1
  if (!one &&
      (values->count() != channels || leading > 1 || values->shape[1 - leading] != channels)) {
    return std::nullopt;
  }
  Affine affine{std::vector<double>(static_cast<size_t>(channels), 1),
                std::vector<double>(static_cast<size_t>(channels), 0)};
  for (int64_t c = 0; c < channels; ++c) {
    const double value = values->number(one ? 0 : c);
    const auto at = static_cast<size_t>(c);
    if (node.op == "Add") affine.shift[at] = value;
    if (node.op == "Mul") affine.factor[at] = value;
    if (node.op == "Sub" && conv_input == 0) affine.shift[at] = -value;
    if (node.op == "Div" && conv_input == 0) affine.factor[at] = 1 / value;
    if (node.op == "Sub" && conv_input == 1) {
      affine.factor[at] = -1;
      affine.shift[at] = value;
    }
    if (node.op == "Div" && conv_input == 1) return std::nullopt;
  }
  return affine;
}

// Folds the factor and shift into the weights and the bias.
void apply(Graph& graph, Node& conv, const Affine& affine) {
  const HostTensor& weights = *constant(graph, conv.inputs[1]);
  const HostTensor* bias = conv.inputs.size() > 2 ? constant(graph, conv.inputs[2]) : nullptr;
  const auto channels = static_cast<int64_t>(affine.factor.size());
  auto new_weights = std::make_shared<HostTensor>(weights);
  auto new_bias = std::make_shared<HostTensor>(ElementType::f32, Shape{channels});
  const int64_t each = channels == 0 ? 0 : weights.count() / channels;
  for (int64_t c = 0; c < channels; ++c) {
    const double factor = affine.factor[static_cast<size_t>(c)];
    for (int64_t i = 0; i < each; ++i) {
      float& weight = new_weights->data<float>()[c * each + i];
      weight = static_cast<float>(weight * factor);
    }
    const double before = bias != nullptr ? bias->number(c) : 0;
    new_bias->data<float>()[c] =
        static_cast<float>(before * factor + affine.shift[static_cast<size_t>(c)]);
  }
  const std::string name = graph.name_of(conv.outputs[0]);
  conv.inputs.resize(3, kNone);
  conv.inputs[1] = add_constant(graph, name + " weights", std::move(new_weights));
  conv.inputs[2] = add_constant(graph, name + " bias", std::move(new_bias));
}

// Folds scale * conv(x, w) + shift into the weights. Returns the convolution that absorbed `node`,
// or null.
Node* take_affine(Graph& graph, const Uses& uses, const Node& node) {
  const bool norm = is(&node, "BatchNormalization");
  const bool arithmetic =
      (is(&node, "Add") || is(&node, "Sub") || is(&node, "Mul") || is(&node, "Div")) &&
      node.inputs.size() == 2 && node.attributes.empty();
  if (!norm && !arithmetic) return nullptr;
  for (size_t i = 0; i < (norm ? 1 : 2) && i < node.inputs.size(); ++i) {
    Node* conv = convolution_before(uses, node, node.inputs[i]);
    // A residual would have to be scaled, too.
    if (conv == nullptr || conv->epilogue.residual) continue;
    const HostTensor* weights = constant(graph, conv->inputs[1]);
    if (weights == nullptr || weights->type != ElementType::f32 || weights->shape.empty()) continue;
    const int64_t channels = weights->shape[0];
    const bool biased = conv->inputs.size() > 2 && conv->inputs[2] != kNone;
    const HostTensor* bias = biased ? constant(graph, conv->inputs[2]) : nullptr;
    if (biased && (bias == nullptr || bias->count() != channels)) continue;
    const auto affine = norm
                            ? affine_of_norm(graph, node, channels)
                            : affine_of_arithmetic(graph, node, i, channels, weights->shape.size());
    if (!affine) continue;
    apply(graph, *conv, *affine);
    return conv;
  }
  return nullptr;
}

// The activation that a node computes; none if conv2d has no such activation.
Activation activation_of(const Graph& graph, const Node& node) {
  using Kind = Activation::Kind;
  if (!node.domain.empty()) return {};
  if (node.op == "Relu") return {Kind::relu};
  if (node.op == "Sigmoid") return {Kind::sigmoid};
  if (node.op == "Silu") return {Kind::silu};
  if (node.op == "HardSwish") return {Kind::hardswish};
  if (node.op == "LeakyRelu") return {Kind::leaky_relu, real_of(node, "alpha", 0.01)};
  if (node.op != "Clip") return {};
  const auto bound = [&](const char* name, size_t index) -> std::optional<double> {
    const auto attribute = node.attributes.find(name);
    if (attribute != node.attributes.end()) return attribute->second.real;
    if (index >= node.inputs.size()) return std::nullopt;
    return number_of(graph, node.inputs[index]);
  };
  const auto low = bound("min", 1);
  const auto high = bound("max", 2);
  if (low == 0.0 && high == 6.0) return {Kind::relu6};
  if (low && high && *low <= *high && std::isfinite(*low) && std::isfinite(*high)) {
    return {Kind::clamp, 0, *low, *high};
  }
  return {};
}

// Turns Constant nodes into constants of the graph, which the passes below look up.
void lift_constants(Graph& graph) {
  std::erase_if(graph.nodes, [&](const Node& node) {
    if (node.op != "Constant" || !node.domain.empty() || node.outputs.size() != 1) return false;
    const auto value = node.attributes.find("value");
    if (value == node.attributes.end() || value->second.tensor == nullptr) return false;
    graph.constants[node.outputs[0]] = value->second.tensor;
    return true;
  });
}

// Fuses conv(x) + y, where y is a residual: the convolution moves to the position of the sum, since
// y may be computed after it, and gets y as a further input.
bool take_residual(Graph& graph, Uses& uses, Node& sum) {
  if (sum.op != "Add" || !sum.domain.empty() || sum.inputs.size() != 2 || sum.outputs.size() != 1 ||
      !sum.attributes.empty() || sum.inputs[0] == sum.inputs[1]) {
    return false;
  }
  // Of two convolutions, take the later one: the live range of its input is longer anyway.
  Node* conv = nullptr;
  TensorId other = kNone;
  for (size_t i = 0; i < 2; ++i) {
    Node* each = convolution_before(uses, sum, sum.inputs[i]);
    const TensorId rest = sum.inputs[1 - i];
    if (each == nullptr || each->epilogue.residual || constant(graph, rest) != nullptr) continue;
    if (conv == nullptr || each > conv) {
      conv = each;
      other = rest;
    }
  }
  if (conv == nullptr) return false;
  move_node(*conv, sum);
  sum.inputs.resize(3, kNone);
  sum.epilogue.residual = sum.inputs.size();
  sum.inputs.push_back(other);
  uses.producer[static_cast<size_t>(sum.outputs[0])] = &sum;
  return true;
}

// Fuses a Pad with zeros into the padding of the following convolution, or of an average pool,
// which then includes the padding in its count.
bool take_padding(const Graph& graph, const Uses& uses, Node& conv) {
  const bool mean =
      is(&conv, "AveragePool") && integer_of(conv, "ceil_mode", 0) == 0 && conv.inputs.size() == 1;
  if (!mean && (!is(&conv, "Conv") || conv.inputs.size() < 2)) return false;
  Node* pad = uses.single_use_producer(conv.inputs[0]);
  if (!is(pad, "Pad") || pad->inputs.empty() ||
      (pad->inputs.size() > 3 && pad->inputs[3] != kNone)) {
    return false;
  }
  const std::string automatic = text_of(conv, "auto_pad", "NOTSET");
  if (text_of(*pad, "mode", "constant") != "constant" ||
      (automatic != "NOTSET" && automatic != "VALID")) {
    return false;
  }
  std::vector<int64_t> around = integers_of(*pad, "pads");
  double value = real_of(*pad, "value", 0);
  if (around.empty()) {
    const HostTensor* given = pad->inputs.size() > 1 ? constant(graph, pad->inputs[1]) : nullptr;
    if (given == nullptr) return false;
    around = given->integers();
  }
  if (pad->inputs.size() > 2 && pad->inputs[2] != kNone) {
    const auto given = number_of(graph, pad->inputs[2]);
    if (!given) return false;
    value = *given;
  }
  const size_t rank = around.size() / 2;
  if (value != 0 || rank < 3 || around.size() != 2 * rank) return false;
  if (!mean) {
    const HostTensor* weights = constant(graph, conv.inputs[1]);
    if (weights == nullptr || weights->shape.size() != rank) return false;
  }
  std::vector<int64_t> pads = integers_of(conv, "pads");
  if (pads.empty() || automatic == "VALID") pads.assign(2 * (rank - 2), 0);
  if (pads.size() != 2 * (rank - 2)) return false;
  // An average pool that excludes its own padding cannot include that of the Pad.
  const bool counts = integer_of(conv, "count_include_pad", 0) != 0;
  if (mean && !counts && std::any_of(pads.begin(), pads.end(), [](int64_t n) { return n != 0; })) {
    return false;
  }
  constexpr int64_t kMaxPad = 1 << 16;  // the limit of conv2d
  for (size_t d = 0; d < rank; ++d) {
    for (const bool after : {false, true}) {
      const int64_t each = around[after ? d + rank : d];
      if (each < 0 || each > kMaxPad || (d < 2 && each != 0)) return false;
      if (d >= 2) pads[(after ? rank - 2 : 0) + d - 2] += each;
    }
  }
  if (mean) conv.attributes["count_include_pad"].integer = 1;
  conv.attributes["pads"].integers = pads;
  conv.attributes.erase("auto_pad");
  conv.inputs[0] = pad->inputs[0];
  pad->inputs.clear();
  pad->outputs.clear();
  return true;
}

void fuse_into_convolutions(Graph& graph) {
  Uses uses = uses_of(graph);
  for (Node& node : graph.nodes) {
    take_padding(graph, uses, node);
    if (take_residual(graph, uses, node)) continue;
    if (node.inputs.empty() || node.outputs.empty()) continue;
    Node* conv = take_affine(graph, uses, node);
    if (conv == nullptr) {
      const Activation activation = activation_of(graph, node);
      if (!activation) continue;
      conv = activated_before(uses, node, node.inputs[0]);
      if (conv == nullptr) continue;
      conv->epilogue.activation = activation;
    }
    conv->outputs[0] = node.outputs[0];
    uses.producer[static_cast<size_t>(node.outputs[0])] = conv;
    node.inputs.clear();
    node.outputs.clear();
  }
  // Fused nodes have no outputs left.
  std::erase_if(graph.nodes, [](const Node& node) { return node.outputs.empty(); });
}

}  // namespace

Graph optimized(Graph graph) {
  lift_constants(graph);
  fold_weights(graph);
  rewrite_nested(graph, optimized);
  remove_dead_nodes(graph);
  sink_transposes(graph);
  remove_dead_nodes(graph);
  merge_patterns(graph);
  remove_dead_nodes(graph);
  fuse_into_convolutions(graph);
  pack_recurrent(graph);
  remove_dead_nodes(graph);
  return graph;
}

}  // namespace dala::model
