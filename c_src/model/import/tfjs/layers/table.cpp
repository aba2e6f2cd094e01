#include "model/import/tfjs/layers/table.hpp"

#include <algorithm>

#include "model/import/common/operator_table.hpp"

namespace dala::model::tfjs {
namespace {

const OperatorTable<Layer>& layer_table() {
  static const OperatorTable<Layer> all{
      activation_layers(), convolution_layers(),   dense_layers(),    merge_layers(),
      movement_layers(),   normalization_layers(), recurrent_layers()};
  return all;
}

bool takes_several_inputs(const std::string& kind) {
  const Layers merging = merge_layers();
  return std::any_of(merging.begin(), merging.end(),
                     [&kind](const Layer& layer) { return kind == layer.name; });
}

}  // namespace

KerasValue run_layer(const KerasCall& call) {
  const Layer* layer = layer_table().find(call.layer.kind());
  if (layer == nullptr) unsupported("");
  if (call.inputs.size() != 1 && !takes_several_inputs(call.layer.kind())) {
    unsupported("several inputs");
  }
  return layer->build(call);
}

std::vector<std::string> keras_layer_names() { return layer_table().names(); }

}  // namespace dala::model::tfjs
