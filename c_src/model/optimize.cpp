#include "model/optimize.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dala::model {
namespace {

// Who computes each tensor, and how many nodes or outputs use it.
struct Uses {
  std::vector<Node*> producer;
  std::vector<size_t> count;
};

Uses uses_of(Graph& graph) {
  Uses uses{std::vector<Node*>(graph.names.size(), nullptr),
            std::vector<size_t>(graph.names.size(), 0)};
  for (Node& node : graph.nodes) {
    for (TensorId id : node.inputs) {
      if (id != kNone) ++uses.count[static_cast<size_t>(id)];
    }
    for (TensorId id : node.outputs) {
      if (id != kNone) uses.producer[static_cast<size_t>(id)] = &node;
    }
  }
  for (const Port& port : graph.outputs) ++uses.count[static_cast<size_t>(port.tensor)];
  return uses;
}

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

const HostTensor* constant(const Graph& graph, TensorId id) {
  const auto found = id == kNone ? graph.constants.end() : graph.constants.find(id);
  return found == graph.constants.end() ? nullptr : found->second.get();
}

double real_of(const Node& node, const char* name, double fallback) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? fallback : found->second.real.value_or(fallback);
}

TensorId add_constant(Graph& graph, const std::string& name, HostTensorPtr values) {
  const auto id = static_cast<TensorId>(graph.names.size());
  graph.names.push_back(name);
  graph.constants[id] = std::move(values);
  return id;
}

// A convolution whose result only this node uses.
Node* convolution_before(const Uses& uses, const Node& node, TensorId id) {
  if (id == kNone || uses.count[static_cast<size_t>(id)] != 1) return nullptr;
  Node* before = uses.producer[static_cast<size_t>(id)];
  if (before == nullptr || before == &node || before->op != "Conv" || !before->domain.empty() ||
      before->outputs.size() != 1 || before->inputs.size() < 2 ||
      before->attributes.count("activation") != 0) {
    return nullptr;
  }
  return before;
}

// scale * (conv(x, w) + b - mean) / deviation + shift is a convolution with scaled weights.
bool fold_batch_norm(Graph& graph, Node& conv, const Node& norm) {
  const HostTensor* weights = constant(graph, conv.inputs[1]);
  const bool biased = conv.inputs.size() > 2 && conv.inputs[2] != kNone;
  const HostTensor* bias = biased ? constant(graph, conv.inputs[2]) : nullptr;
  if (weights == nullptr || weights->type != ElementType::f32 || weights->shape.empty()) {
    return false;
  }
  const int64_t channels = weights->shape[0];
  if (biased && (bias == nullptr || bias->count() != channels)) return false;
  const HostTensor* params[4];
  for (size_t i = 0; i < 4; ++i) {
    params[i] = norm.inputs.size() > i + 1 ? constant(graph, norm.inputs[i + 1]) : nullptr;
    if (params[i] == nullptr || params[i]->count() != channels ||
        params[i]->type != ElementType::f32) {
      return false;
    }
  }
  const double small = real_of(norm, "epsilon", 1e-5);
  const auto training = norm.attributes.find("training_mode");
  if (training != norm.attributes.end() && training->second.integer.value_or(0) != 0) return false;

  auto new_weights = std::make_shared<HostTensor>(*weights);
  auto new_bias = std::make_shared<HostTensor>(ElementType::f32, Shape{channels});
  const int64_t each = channels == 0 ? 0 : weights->count() / channels;
  for (int64_t c = 0; c < channels; ++c) {
    const double factor = params[0]->number(c) / std::sqrt(params[3]->number(c) + small);
    for (int64_t i = 0; i < each; ++i) {
      float& weight = new_weights->data<float>()[c * each + i];
      weight = static_cast<float>(weight * factor);
    }
    const double before = bias != nullptr ? bias->number(c) : 0;
    new_bias->data<float>()[c] =
        static_cast<float>((before - params[2]->number(c)) * factor + params[1]->number(c));
  }
  const std::string name = graph.name_of(conv.outputs[0]);
  conv.inputs.resize(3, kNone);
  conv.inputs[1] = add_constant(graph, name + " weights", std::move(new_weights));
  conv.inputs[2] = add_constant(graph, name + " bias", std::move(new_bias));
  return true;
}

// What an activation is called by conv2d; the slope of leaky_relu.
struct ActivationName {
  std::string name;  // empty: it has no name for this
  double slope = 0;
};

ActivationName activation_of(const Graph& graph, const Node& node) {
  if (!node.domain.empty()) return {};
  if (node.op == "Relu") return {"relu"};
  if (node.op == "Sigmoid") return {"sigmoid"};
  if (node.op == "Silu") return {"silu"};
  if (node.op == "HardSwish") return {"hardswish"};
  if (node.op == "LeakyRelu") return {"leaky_relu", real_of(node, "alpha", 0.01)};
  if (node.op != "Clip") return {};
  const auto bound = [&](const char* name, size_t index) -> std::optional<double> {
    const auto attribute = node.attributes.find(name);
    if (attribute != node.attributes.end()) return attribute->second.real;
    if (index >= node.inputs.size()) return std::nullopt;
    const HostTensor* values = constant(graph, node.inputs[index]);
    if (values == nullptr || values->count() != 1) return std::nullopt;
    return values->number(0);
  };
  const auto low = bound("min", 1);
  const auto high = bound("max", 2);
  if (low == 0.0 && high == 6.0) return {"relu6"};
  return {};
}

// x * gate(x), as exporters write silu and hardswish, becomes one node again.
void merge_gates(Graph& graph) {
  const Uses uses = uses_of(graph);
  for (Node& node : graph.nodes) {
    if (node.op != "Mul" || !node.domain.empty() || node.inputs.size() != 2) continue;
    for (size_t i = 0; i < 2; ++i) {
      const TensorId id = node.inputs[i];
      const TensorId other = node.inputs[1 - i];
      if (id == kNone || other == kNone || uses.count[static_cast<size_t>(id)] != 1) continue;
      const Node* gate = uses.producer[static_cast<size_t>(id)];
      if (gate == nullptr || !gate->domain.empty() || gate->inputs.size() != 1 ||
          gate->inputs[0] != other) {
        continue;
      }
      const bool silu = gate->op == "Sigmoid";
      const bool hard = gate->op == "HardSigmoid" && real_of(*gate, "beta", 0.5) == 0.5 &&
                        std::fabs(real_of(*gate, "alpha", 0.2) - 1.0 / 6) < 1e-6;
      if (!silu && !hard) continue;
      node.op = silu ? "Silu" : "HardSwish";
      node.inputs = {other};
      break;
    }
  }
}

// Constant nodes become constants of the graph, where the passes below see them.
void lift_constants(Graph& graph) {
  std::erase_if(graph.nodes, [&](const Node& node) {
    if (node.op != "Constant" || !node.domain.empty() || node.outputs.size() != 1) return false;
    const auto value = node.attributes.find("value");
    if (value == node.attributes.end() || value->second.tensor == nullptr) return false;
    graph.constants[node.outputs[0]] = value->second.tensor;
    return true;
  });
}

// conv(x) + y, with y from elsewhere: the convolution moves to where the sum is, since y may be
// computed after it, and takes y as its input 3.
bool take_residual(Graph& graph, Uses& uses, Node& sum) {
  if (sum.op != "Add" || !sum.domain.empty() || sum.inputs.size() != 2 || sum.outputs.size() != 1 ||
      !sum.attributes.empty() || sum.inputs[0] == sum.inputs[1]) {
    return false;
  }
  // Of two convolutions the later one, whose input is needed longer anyway.
  Node* conv = nullptr;
  TensorId other = kNone;
  for (size_t i = 0; i < 2; ++i) {
    Node* each = convolution_before(uses, sum, sum.inputs[i]);
    const TensorId rest = sum.inputs[1 - i];
    if (each == nullptr || each->inputs.size() > 3 || constant(graph, rest) != nullptr) continue;
    if (conv == nullptr || each > conv) {
      conv = each;
      other = rest;
    }
  }
  if (conv == nullptr) return false;
  Node merged = *conv;
  merged.inputs.resize(4, kNone);
  merged.inputs[3] = other;
  merged.outputs = sum.outputs;
  conv->inputs.clear();
  conv->outputs.clear();
  sum = std::move(merged);
  uses.producer[static_cast<size_t>(sum.outputs[0])] = &sum;
  return true;
}

void fuse_into_convolutions(Graph& graph) {
  Uses uses = uses_of(graph);
  for (Node& node : graph.nodes) {
    if (take_residual(graph, uses, node)) continue;
    const bool norm = node.op == "BatchNormalization" && node.domain.empty();
    const ActivationName activation = norm ? ActivationName{} : activation_of(graph, node);
    if ((!norm && activation.name.empty()) || node.inputs.empty() || node.outputs.empty()) continue;
    Node* conv = convolution_before(uses, node, node.inputs[0]);
    if (conv == nullptr) continue;
    const bool single = std::all_of(node.outputs.begin() + 1, node.outputs.end(),
                                    [](TensorId id) { return id == kNone; });
    if (norm && (!single || !fold_batch_norm(graph, *conv, node))) continue;
    if (!norm) {
      conv->attributes["activation"].text = activation.name;
      conv->attributes["slope"].real = activation.slope;
    }
    conv->outputs[0] = node.outputs[0];
    uses.producer[static_cast<size_t>(node.outputs[0])] = conv;
    node.inputs.clear();
    node.outputs.clear();
  }
  // Those that became part of another have no outputs left.
  std::erase_if(graph.nodes, [](const Node& node) { return node.outputs.empty(); });
}

}  // namespace

Graph optimized(Graph graph) {
  lift_constants(graph);
  merge_gates(graph);
  remove_dead_nodes(graph);
  fuse_into_convolutions(graph);
  remove_dead_nodes(graph);
  return graph;
}

}  // namespace dala::model
