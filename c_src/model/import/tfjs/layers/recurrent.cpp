// Recurrent layers, in one direction or both.
#include <map>
#include <utility>

#include "model/import/common/tensorflow.hpp"
#include "model/import/tfjs/layers/table.hpp"

namespace dala::model::tfjs {
namespace {

// The gates of Keras in the order of ONNX: LSTM i, f, c, o to i, o, f, c; GRU z, r, h is the same.
std::vector<int64_t> gate_order(int64_t gates) {
  if (gates == 4) return {0, 3, 1, 2};
  if (gates == 3) return {0, 1, 2};
  return {0};
}

std::string onnx_activation(const std::string& name) {
  static const std::map<std::string, const char*> known{
      {"tanh", "Tanh"},     {"sigmoid", "Sigmoid"},
      {"relu", "Relu"},     {"hard_sigmoid", "HardSigmoid"},
      {"linear", "Affine"}, {"softsign", "Softsign"},
      {"elu", "Elu"},       {"softplus", "Softplus"}};
  const auto found = known.find(name);
  if (found == known.end()) unsupported("the activation " + name);
  return found->second;
}

struct Cell {
  std::string op;
  int64_t gates = 1;
};

Cell cell_of(const std::string& kind) {
  if (kind == "LSTM") return {"LSTM", 4};
  if (kind == "GRU") return {"GRU", 3};
  if (kind == "SimpleRNN") return {"RNN", 1};
  unsupported("a recurrent layer of class " + kind);
}

// Weights {rows, gates * units} of all directions as {directions, gates * units, rows}.
TensorId turned(const KerasCall& call, const std::vector<HostTensorPtr>& each, int64_t gates,
                int64_t rows, int64_t units) {
  const auto directions = static_cast<int64_t>(each.size());
  auto all = std::make_shared<HostTensor>(ElementType::f32, Shape{directions, gates * units, rows});
  const std::vector<int64_t> order = gate_order(gates);
  float* to = all->data<float>();
  for (const HostTensorPtr& from : each) {
    for (int64_t g = 0; g < gates; ++g) {
      for (int64_t u = 0; u < units; ++u) {
        for (int64_t r = 0; r < rows; ++r) {
          *to++ = static_cast<float>(
              from->number(r * gates * units + order[static_cast<size_t>(g)] * units + u));
        }
      }
    }
  }
  return call.builder.constant(std::move(all));
}

// Biases {gates * units} as {directions, 2 * gates * units}, of which the second half is zero.
TensorId biases(const KerasCall& call, const std::vector<HostTensorPtr>& each, int64_t gates,
                int64_t units) {
  const int64_t width = gates * units;
  auto all = std::make_shared<HostTensor>(ElementType::f32,
                                          Shape{static_cast<int64_t>(each.size()), 2 * width});
  const std::vector<int64_t> order = gate_order(gates);
  for (size_t d = 0; d < each.size(); ++d) {
    for (int64_t i = 0; each[d] != nullptr && i < each[d]->count(); ++i) {
      const int64_t from = order[static_cast<size_t>(i / units)] * units + i % units;
      all->data<float>()[static_cast<int64_t>(d) * 2 * width + i] =
          static_cast<float>(each[d]->number(from));
    }
  }
  return call.builder.constant(std::move(all));
}

// The weights of each direction, as Keras stores them.
struct DirectionWeights {
  std::vector<HostTensorPtr> input;
  std::vector<HostTensorPtr> state;
  std::vector<HostTensorPtr> bias;  // null if the layer has none
};

DirectionWeights weights_of(const KerasCall& call, const KerasConfig& layer, int64_t width,
                            int64_t units, bool both) {
  const std::vector<std::string> parts =
      both ? std::vector<std::string>{"forward", "backward"} : std::vector<std::string>{""};
  DirectionWeights weights;
  for (const std::string& part : parts) {
    weights.input.push_back(call.find_weight("kernel", part));
    weights.state.push_back(call.find_weight("recurrent_kernel", part));
    const bool biased = layer.flag("use_bias", true);
    weights.bias.push_back(biased ? call.find_weight("bias", part) : nullptr);
    if (biased && weights.bias.back() == nullptr) reject("the weight bias is missing");
  }
  for (size_t d = 0; d < parts.size(); ++d) {
    const HostTensorPtr& kernel = weights.input[d];
    if (kernel == nullptr || weights.state[d] == nullptr) {
      reject("the weights kernel and recurrent_kernel are missing");
    }
    const bool fits = kernel->shape.size() == 2 && kernel->shape[1] == width &&
                      kernel->shape == Shape{weights.input[0]->shape[0], width} &&
                      weights.state[d]->shape == Shape{units, width} &&
                      (weights.bias[d] == nullptr || weights.bias[d]->count() == width);
    if (!fits) {
      reject(text("kernel has shape ", to_string(kernel->shape), " and recurrent_kernel ",
                  to_string(weights.state[d]->shape), ", expected ", width, " columns for ", units,
                  " units"));
    }
  }
  return weights;
}

Attribute activations_of(const KerasConfig& layer, int64_t gates, size_t directions) {
  std::vector<std::string> names;
  for (size_t d = 0; d < directions; ++d) {
    const std::string curve = onnx_activation(layer.text("activation", "tanh"));
    if (gates > 1) {
      names.push_back(onnx_activation(layer.text("recurrent_activation", "sigmoid")));
    }
    names.push_back(curve);
    if (gates == 4) names.push_back(curve);
  }
  Attribute attribute;
  attribute.texts = std::move(names);
  return attribute;
}

// The results of ONNX as those of Keras: the last states {n, directions, units}, or the sequence
// {n, steps, directions, units}, with the directions merged.
KerasValue merged_directions(const KerasCall& call, const KerasConfig& layer,
                             const std::vector<TensorId>& results, const std::string& merge,
                             size_t directions) {
  GraphBuilder& builder = call.builder;
  const bool steps = layer.flag("return_sequences", false);
  if (directions == 2 && merge != "concat") {
    static const std::map<std::string, const char*> ways{
        {"sum", "ReduceSum"}, {"mul", "ReduceProd"}, {"ave", "ReduceMean"}};
    const auto way = ways.find(merge);
    if (way == ways.end()) unsupported("merging directions by " + merge);
    return {tensorflow::reduce(builder, way->second, results[steps ? 0 : 1],
                               builder.integers({steps ? 2 : 1}), false),
            steps ? 3 : 2};
  }
  const int64_t columns = static_cast<int64_t>(directions) * layer.integer("units", 0);
  if (!steps) return {builder.reshape(results[1], {0, columns}), 2};
  const TensorId sequence = builder.reshape(results[0], {0, 0, columns});
  if (!layer.flag("go_backwards", false)) return {sequence, 3};
  // Keras gives the steps in the order in which it runs them.
  return {builder.add("Slice",
                      {sequence, builder.integers({-1}), builder.integers({-(int64_t{1} << 40)}),
                       builder.integers({1}), builder.integers({-1})}),
          3};
}

// One or both directions of a recurrent layer, whose configuration is `layer`.
KerasValue recurrence(const KerasCall& call, const KerasConfig& layer, bool both,
                      const std::string& merge) {
  call.need_rank(3);
  const Cell cell = cell_of(layer.kind());
  const int64_t units = layer.integer("units", 0);
  if (units < 1) reject(text("units is ", units, ", expected at least 1"));
  if (layer.flag("stateful", false) || layer.flag("return_state", false)) {
    unsupported("states that are kept or returned");
  }
  if (layer.flag("reset_after", false)) unsupported("reset_after");
  if (layer.flag("time_major", false)) unsupported("time_major");
  const bool backwards = layer.flag("go_backwards", false);
  if (both && backwards) unsupported("both directions backwards");
  const DirectionWeights weights = weights_of(call, layer, cell.gates * units, units, both);
  const size_t directions = weights.input.size();
  const auto results = call.builder.add_many(
      cell.op,
      {call.in().tensor, turned(call, weights.input, cell.gates, weights.input[0]->shape[0], units),
       turned(call, weights.state, cell.gates, units, units),
       biases(call, weights.bias, cell.gates, units)},
      2,
      {{"hidden_size", attr::integer(units)},
       {"layout", attr::integer(1)},
       {"direction", attr::text(both        ? "bidirectional"
                                : backwards ? "reverse"
                                            : "forward")},
       {"activations", activations_of(layer, cell.gates, directions)}});
  return merged_directions(call, layer, results, merge, directions);
}

KerasValue recurrent_layer(const KerasCall& call) {
  return recurrence(call, call.layer, false, "");
}

KerasValue bidirectional(const KerasCall& call) {
  const Json* inner = call.layer.find("layer");
  if (inner == nullptr) reject("there is no layer inside");
  if (call.layer.is_null("merge_mode")) unsupported("directions that are not merged");
  if (call.layer.find("backward_layer") != nullptr) unsupported("a layer for each direction");
  return recurrence(call, KerasConfig(*inner), true, call.layer.text("merge_mode", "concat"));
}

}  // namespace

Layers recurrent_layers() {
  return {
      {"Bidirectional", bidirectional},
      {"GRU", recurrent_layer},
      {"LSTM", recurrent_layer},
      {"SimpleRNN", recurrent_layer},
  };
}

}  // namespace dala::model::tfjs
