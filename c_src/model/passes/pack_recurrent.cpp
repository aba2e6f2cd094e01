#include "model/passes/pack_recurrent.hpp"

#include <map>
#include <utility>

#include "kernels/nn/recurrent/recurrent.hpp"
#include "kernels/nn/recurrent/recurrent_args.h"
#include "model/graph/graph_uses.hpp"

namespace dala::model {
namespace {

// An activation of ONNX: the kernel's name for it, and the numbers that it takes with their
// defaults.
struct Known {
  const char* name;
  bool takes_alpha = false;
  bool takes_beta = false;
  double alpha = 1;
  double beta = 0;
};

const std::map<std::string, Known>& known_activations() {
  static const std::map<std::string, Known> known{
      {"Sigmoid", {"sigmoid"}},
      {"Tanh", {"tanh"}},
      {"Relu", {"relu"}},
      {"Affine", {"affine", true, true}},
      {"LeakyRelu", {"leaky_relu", true, false, 0.01}},
      {"ThresholdedRelu", {"thresholded_relu", true}},
      {"HardSigmoid", {"hard_sigmoid", true, true, 0.2, 0.5}},
      {"Elu", {"elu", true}},
      {"Softsign", {"softsign"}},
      {"Softplus", {"softplus"}},
      {"ScaledTanh", {"scaled_tanh", true, true, 1, 1}},
  };
  return known;
}

struct LayerSizes {
  int64_t gates = 1;
  int64_t directions = 1;
  int64_t hidden = 1;
  int64_t features = 1;
  int64_t tiles = 1;

  int64_t columns() const { return directions * tiles * gates * RECURRENT_TILE; }
  // The column of a unit of a gate.
  int64_t column(int64_t direction, int64_t gate, int64_t unit) const {
    return ((direction * tiles + unit / RECURRENT_TILE) * gates + gate) * RECURRENT_TILE +
           unit % RECURRENT_TILE;
  }
  template <typename Visit>
  void each_unit(const Visit& visit) const {
    for (int64_t d = 0; d < directions; ++d) {
      for (int64_t g = 0; g < gates; ++g) {
        for (int64_t u = 0; u < hidden; ++u) visit(d, g, u);
      }
    }
  }
};

// A constant that is stored as f32. Null if there is none; `valid` becomes false if there is
// another input in its place.
const HostTensor* floats(const Graph& graph, const Node& node, size_t index, bool& valid) {
  if (index >= node.inputs.size() || node.inputs[index] == kNone) return nullptr;
  const HostTensor* tensor = constant(graph, node.inputs[index]);
  if (tensor == nullptr || storage_of(tensor->type) != DType::f32) valid = false;
  return valid ? tensor : nullptr;
}

struct Weights {
  const HostTensor* input = nullptr;
  const HostTensor* state = nullptr;
  const HostTensor* bias = nullptr;
  const HostTensor* peepholes = nullptr;
};

// Nodes whose weights do not fit together are left to the operator, which says why.
std::optional<LayerSizes> sizes_of(const Node& node, int64_t gates, const Weights& weights) {
  if (weights.input == nullptr || weights.state == nullptr) return std::nullopt;
  const Shape& w = weights.input->shape;
  const Shape& r = weights.state->shape;
  if (w.size() != 3 || r.size() != 3 || r[1] != gates * r[2] || w[1] != r[1] || w[0] != r[0]) {
    return std::nullopt;
  }
  LayerSizes sizes;
  sizes.gates = gates;
  sizes.directions = r[0];
  sizes.hidden = r[2];
  sizes.features = w[2];
  sizes.tiles = recurrent_tiles(sizes.hidden);
  const bool both = text_of(node, "direction", "forward") == "bidirectional";
  const int64_t width = gates * sizes.hidden;
  if (sizes.directions != (both ? 2 : 1) || sizes.hidden < 1 ||
      (weights.bias != nullptr && weights.bias->shape != Shape{sizes.directions, 2 * width}) ||
      (weights.peepholes != nullptr &&
       weights.peepholes->shape != Shape{sizes.directions, 3 * sizes.hidden})) {
    return std::nullopt;
  }
  return sizes;
}

HostTensorPtr packed_input(const LayerSizes& sizes, const HostTensor& weights) {
  auto packed = std::make_shared<HostTensor>(weights.type, Shape{sizes.features, sizes.columns()});
  const auto* from = weights.data<float>();
  sizes.each_unit([&](int64_t d, int64_t g, int64_t u) {
    const int64_t column = sizes.column(d, g, u);
    for (int64_t f = 0; f < sizes.features; ++f) {
      packed->data<float>()[f * sizes.columns() + column] = *from++;
    }
  });
  return packed;
}

HostTensorPtr packed_state(const LayerSizes& sizes, const HostTensor& weights) {
  const int64_t pitch = sizes.gates * RECURRENT_TILE;
  auto packed = std::make_shared<HostTensor>(
      weights.type, Shape{sizes.directions, sizes.tiles, sizes.hidden, pitch});
  const auto* from = weights.data<float>();
  sizes.each_unit([&](int64_t d, int64_t g, int64_t u) {
    const int64_t tile = d * sizes.tiles + u / RECURRENT_TILE;
    const int64_t lane = g * RECURRENT_TILE + u % RECURRENT_TILE;
    for (int64_t k = 0; k < sizes.hidden; ++k) {
      packed->data<float>()[(tile * sizes.hidden + k) * pitch + lane] = *from++;
    }
  });
  return packed;
}

// The biases of both products in one, except for that of a candidate to whose product the reset
// gate is applied.
HostTensorPtr packed_bias(const LayerSizes& sizes, const HostTensor* bias, bool linear,
                          ElementType type) {
  auto packed = std::make_shared<HostTensor>(type, Shape{sizes.columns()});
  if (bias == nullptr) return packed;
  const int64_t width = sizes.gates * sizes.hidden;
  sizes.each_unit([&](int64_t d, int64_t g, int64_t u) {
    const float* own = bias->data<float>() + d * 2 * width + g * sizes.hidden + u;
    packed->data<float>()[sizes.column(d, g, u)] = own[0] + (linear && g == 2 ? 0.0F : own[width]);
  });
  return packed;
}

HostTensorPtr packed_extra(const LayerSizes& sizes, const Weights& weights, bool linear,
                           ElementType type) {
  auto packed =
      std::make_shared<HostTensor>(type, Shape{sizes.directions, sizes.tiles, 3, RECURRENT_TILE});
  const int64_t width = sizes.gates * sizes.hidden;
  for (int64_t d = 0; d < sizes.directions; ++d) {
    for (int64_t u = 0; u < sizes.hidden; ++u) {
      float* to = packed->data<float>() +
                  (d * sizes.tiles + u / RECURRENT_TILE) * 3 * RECURRENT_TILE + u % RECURRENT_TILE;
      if (weights.peepholes != nullptr) {
        const float* from = weights.peepholes->data<float>() + d * 3 * sizes.hidden + u;
        for (int64_t p = 0; p < 3; ++p) to[p * RECURRENT_TILE] = from[p * sizes.hidden];
      } else if (linear && weights.bias != nullptr) {
        *to = weights.bias->data<float>()[d * 2 * width + width + 2 * sizes.hidden + u];
      }
    }
  }
  return packed;
}

// The attributes of the kernel `recurrent`. False if it has not all of the activations.
bool set_activations(const Node& node, Node& packed, const LayerSizes& sizes) {
  const auto activations =
      recurrent_activations(node, default_activations(sizes.gates), sizes.directions);
  std::string names;
  std::vector<double> alphas;
  std::vector<double> betas;
  for (const RecurrentActivation& each : activations) {
    const auto found = known_activations().find(each.name);
    if (found == known_activations().end()) return false;
    names += (names.empty() ? "" : ",") + std::string(found->second.name);
    alphas.push_back(each.alpha);
    betas.push_back(each.beta);
  }
  packed.attributes["activations"].text = names;
  packed.attributes["alphas"].reals = alphas;
  packed.attributes["betas"].reals = betas;
  return true;
}

bool pack(Graph& graph, Node& node) {
  const bool lstm = node.op == "LSTM";
  const int64_t gates = lstm ? 4 : node.op == "GRU" ? 3 : 1;
  bool valid = true;
  Weights weights{floats(graph, node, 1, valid), floats(graph, node, 2, valid),
                  floats(graph, node, 3, valid), lstm ? floats(graph, node, 7, valid) : nullptr};
  const auto sizes = valid ? sizes_of(node, gates, weights) : std::nullopt;
  if (!sizes) return false;
  const bool linear = node.op == "GRU" && integer_of(node, "linear_before_reset", 0) != 0;
  Node packed;
  packed.op = "RecurrentLayer";
  packed.name = node.name;
  packed.outputs = node.outputs;
  if (!set_activations(node, packed, *sizes)) return false;
  packed.attributes["kind"].text = lstm         ? "lstm"
                                   : gates == 1 ? "rnn"
                                   : linear     ? "gru_linear"
                                                : "gru";
  packed.attributes["backwards"].integer = text_of(node, "direction", "forward") == "reverse";
  packed.attributes["peepholes"].integer = weights.peepholes != nullptr;
  packed.attributes["input_forget"].integer = integer_of(node, "input_forget", 0) != 0;
  packed.attributes["layout"].integer = integer_of(node, "layout", 0);
  packed.attributes["clip"].real = real_of(node, "clip", 0);
  packed.attributes["cell_clip"].real = real_of(node, "cell_clip", 0);
  const std::string name = node.name.empty() ? node.op : node.name;
  const ElementType type = weights.input->type;
  const auto given = [&](size_t index) {
    return index < node.inputs.size() ? node.inputs[index] : kNone;
  };
  packed.inputs = {
      given(0),
      add_constant(graph, name + " weights", packed_input(*sizes, *weights.input)),
      add_constant(graph, name + " bias", packed_bias(*sizes, weights.bias, linear, type)),
      add_constant(graph, name + " state weights", packed_state(*sizes, *weights.state)),
      add_constant(graph, name + " extra", packed_extra(*sizes, weights, linear, type)),
      given(4),
      given(5),
      lstm ? given(6) : kNone};
  node = std::move(packed);
  return true;
}

}  // namespace

std::vector<std::string> default_activations(int64_t gates) {
  if (gates == 1) return {"Tanh"};
  if (gates == 3) return {"Sigmoid", "Tanh"};
  return {"Sigmoid", "Tanh", "Tanh"};
}

// The numbers are consumed in order by the activations that take one.
std::vector<RecurrentActivation> recurrent_activations(const Node& node,
                                                       const std::vector<std::string>& defaults,
                                                       int64_t directions) {
  const auto find = [&node](const char* name) {
    const auto found = node.attributes.find(name);
    return found == node.attributes.end() ? Attribute() : found->second;
  };
  const auto names = find("activations").texts.value_or(std::vector<std::string>());
  const auto alphas = find("activation_alpha").reals.value_or(std::vector<double>());
  const auto betas = find("activation_beta").reals.value_or(std::vector<double>());
  size_t next_alpha = 0;
  size_t next_beta = 0;
  std::vector<RecurrentActivation> result;
  for (size_t i = 0; i < defaults.size() * static_cast<size_t>(directions); ++i) {
    RecurrentActivation activation{i < names.size() ? names[i] : defaults[i % defaults.size()]};
    const auto found = known_activations().find(activation.name);
    if (found != known_activations().end()) {
      const Known& known = found->second;
      activation.alpha = known.alpha;
      activation.beta = known.beta;
      if (known.takes_alpha && next_alpha < alphas.size()) activation.alpha = alphas[next_alpha++];
      if (known.takes_beta && next_beta < betas.size()) activation.beta = betas[next_beta++];
    }
    result.push_back(std::move(activation));
  }
  return result;
}

void pack_recurrent(Graph& graph) {
  const Uses uses = uses_of(graph);
  const std::vector<size_t> counts = uses.count;
  for (Node& node : graph.nodes) {
    if (!is(&node, "LSTM") && !is(&node, "GRU") && !is(&node, "RNN")) continue;
    if (!pack(graph, node)) continue;
    for (TensorId& id : node.outputs) {
      if (id != kNone && counts[static_cast<size_t>(id)] == 0) id = kNone;
    }
  }
}

}  // namespace dala::model
