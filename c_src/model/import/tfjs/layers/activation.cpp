// Activations, as layers and as options of other layers, and layers that only train.
#include <map>

#include "model/import/tfjs/layers/table.hpp"

namespace dala::model::tfjs {
namespace {

TensorId clipped(GraphBuilder& builder, TensorId x, double low, double high) {
  return builder.add("Clip", {x}, {{"min", attr::real(low)}, {"max", attr::real(high)}});
}

}  // namespace

TensorId activated(GraphBuilder& builder, TensorId x, const std::string& name) {
  static const std::map<std::string, const char*> plain{
      {"relu", "Relu"}, {"sigmoid", "Sigmoid"},   {"tanh", "Tanh"},
      {"elu", "Elu"},   {"selu", "Selu"},         {"softplus", "Softplus"},
      {"gelu", "Gelu"}, {"softsign", "Softsign"}, {"mish", "Mish"}};
  if (name.empty() || name == "linear") return x;
  if (const auto found = plain.find(name); found != plain.end()) {
    return builder.add(found->second, {x});
  }
  if (name == "relu6") return clipped(builder, x, 0, 6);
  if (name == "softmax") return builder.add("Softmax", {x}, {{"axis", attr::integer(-1)}});
  if (name == "log_softmax") return builder.add("LogSoftmax", {x}, {{"axis", attr::integer(-1)}});
  if (name == "gelu_new") return builder.add("Gelu", {x}, {{"approximate", attr::text("tanh")}});
  if (name == "hard_sigmoid") {
    return builder.add("HardSigmoid", {x}, {{"alpha", attr::real(0.2)}, {"beta", attr::real(0.5)}});
  }
  if (name == "swish") {
    return builder.add("Mul", {x, builder.add("Sigmoid", {x})});
  }
  unsupported("the activation " + name);
}

KerasValue finished(const KerasCall& call, TensorId x, int64_t rank) {
  return {activated(call.builder, x, call.layer.text("activation", "linear")), rank};
}

namespace {

KerasValue activation(const KerasCall& call) {
  return finished(call, call.in().tensor, call.in().rank);
}

KerasValue relu(const KerasCall& call) {
  GraphBuilder& builder = call.builder;
  if (call.layer.real("threshold", 0) != 0) unsupported("a threshold");
  if (call.layer.real("negative_slope", 0) != 0) unsupported("a slope");
  TensorId y = builder.add("Relu", {call.in().tensor});
  if (call.layer.find("max_value") != nullptr) {
    y = builder.add("Clip", {y}, {{"max", attr::real(call.layer.real("max_value", 0))}});
  }
  return {y, call.in().rank};
}

KerasValue leaky_relu(const KerasCall& call) {
  if (call.layer.find("negative_slope") != nullptr) unsupported("the option negative_slope");
  const double alpha = call.layer.real("alpha", 0.3);
  return {call.builder.add("LeakyRelu", {call.in().tensor}, {{"alpha", attr::real(alpha)}}),
          call.in().rank};
}

KerasValue elu(const KerasCall& call) {
  if (call.layer.real("alpha", 1) != 1) unsupported("another alpha than 1");
  return {call.builder.add("Elu", {call.in().tensor}), call.in().rank};
}

KerasValue prelu(const KerasCall& call) {
  return {call.builder.add("PRelu", {call.in().tensor, call.weight("alpha")}), call.in().rank};
}

KerasValue softmax(const KerasCall& call) {
  if (call.axes() != std::vector<int64_t>{call.in().rank - 1}) {
    unsupported("another axis than the last");
  }
  return {call.builder.add("Softmax", {call.in().tensor}, {{"axis", attr::integer(-1)}}),
          call.in().rank};
}

KerasValue identity(const KerasCall& call) { return call.in(); }

}  // namespace

Layers activation_layers() {
  return {
      {"Activation", activation},
      {"AlphaDropout", identity},
      {"Dropout", identity},
      {"ELU", elu},
      {"GaussianDropout", identity},
      {"GaussianNoise", identity},
      {"LeakyReLU", leaky_relu},
      {"PReLU", prelu},
      {"ReLU", relu},
      {"Softmax", softmax},
      {"SpatialDropout1D", identity},
  };
}

}  // namespace dala::model::tfjs
