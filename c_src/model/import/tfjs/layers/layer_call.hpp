// The interface between the importer of Keras models and a layer that is translated to ONNX.
//
// To add a layer: write a function that takes a KerasCall, adds nodes to the builder and returns
// the result; then add it to the list at the end of its file. Add the list of a new file to
// table.cpp. Valid uses without an ONNX counterpart throw `unsupported_op`.
#pragma once

#include <string>
#include <vector>

#include "model/graph/graph_builder.hpp"
#include "model/graph/problem.hpp"
#include "model/import/tfjs/layers/config.hpp"
#include "model/import/tfjs/weights.hpp"

namespace dala::model::tfjs {

struct KerasValue {
  TensorId tensor = kNone;
  int64_t rank = 0;
};

struct KerasCall {
  GraphBuilder& builder;
  const KerasConfig& layer;
  const Weights& weights;
  const std::vector<KerasValue>& inputs;

  const KerasValue& in() const { return inputs[0]; }
  // The weight whose name begins with the layer's and ends with `suffix`; null if there is none.
  // `within` names a part of the layer, such as the forward direction. Throws `invalid_model` if
  // there are several.
  HostTensorPtr find_weight(const std::string& suffix, const std::string& within = "") const;
  // The same as a tensor. Throws `invalid_model` if there is none.
  TensorId weight(const std::string& suffix) const;
  // The bias, or kNone if `config` has none: that of the layer, or of a layer inside it, whose
  // weights have the name of the outer one.
  TensorId bias_of(const KerasConfig& config) const;

  void need_rank(int64_t rank) const;  // throws `invalid_model`
  void need_channels_last() const;     // throws `unsupported_op`
  // The option `axis` as non-negative axes; the last axis if it is absent.
  std::vector<int64_t> axes() const;
};

// Adds the activation that an option of Keras names.
TensorId activated(GraphBuilder& builder, TensorId x, const std::string& name);
// Adds the activation of the layer's options.
KerasValue finished(const KerasCall& call, TensorId x, int64_t rank);

struct Layer {
  const char* name;  // the class of Keras
  KerasValue (*build)(const KerasCall& call);
};
using Layers = std::vector<Layer>;

}  // namespace dala::model::tfjs
