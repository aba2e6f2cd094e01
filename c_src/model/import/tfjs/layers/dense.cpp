// Fully connected layers and embeddings.
#include "model/import/tfjs/layers/table.hpp"

namespace dala::model::tfjs {
namespace {

// The options of `layer`, which may be inside of another one.
KerasValue dense(const KerasCall& call, const KerasConfig& layer) {
  TensorId y = call.builder.add("MatMul", {call.in().tensor, call.weight("kernel")});
  const TensorId bias = call.bias_of(layer);
  if (bias != kNone) y = call.builder.add("Add", {y, bias});
  return {activated(call.builder, y, layer.text("activation", "linear")), call.in().rank};
}

KerasValue plain_dense(const KerasCall& call) { return dense(call, call.layer); }

KerasValue embedding(const KerasCall& call) {
  if (call.layer.flag("mask_zero", false)) unsupported("masks");
  const TensorId indices = call.builder.cast(call.in().tensor, ElementType::i64);
  return {call.builder.add("Gather", {call.weight("embeddings"), indices}), call.in().rank + 1};
}

// A layer for each step. Dense and Activation apply to all axes but the last anyway.
KerasValue time_distributed(const KerasCall& call) {
  const Json* inner = call.layer.find("layer");
  if (inner == nullptr) reject("there is no layer inside");
  const KerasConfig layer(*inner);
  if (layer.kind() == "Activation" || layer.kind() == "Dropout") {
    return run_layer({call.builder, layer, call.weights, call.inputs});
  }
  if (layer.kind() != "Dense") unsupported("a layer of class " + layer.kind());
  return dense(call, layer);
}

}  // namespace

Layers dense_layers() {
  return {
      {"Dense", plain_dense},
      {"Embedding", embedding},
      {"TimeDistributed", time_distributed},
  };
}

}  // namespace dala::model::tfjs
