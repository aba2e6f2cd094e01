// One layer of a Keras model: its configuration, its weights, and its translation to ONNX.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "model/graph_builder.hpp"
#include "model/json.hpp"
#include "model/tfjs/weights.hpp"

namespace dala::model::tfjs {

// Options of a layer, or their defaults if absent or null.
class KerasConfig {
 public:
  explicit KerasConfig(const Json& layer);

  const std::string& kind() const { return kind_; }  // the class name
  const std::string& name() const { return name_; }
  const Json* find(const char* key) const;
  bool is_null(const char* key) const;  // present, but null
  int64_t integer(const char* key, int64_t fallback) const;
  double real(const char* key, double fallback) const;
  bool flag(const char* key, bool fallback) const;
  std::string text(const char* key, const std::string& fallback) const;
  std::vector<int64_t> integers(const char* key) const;  // one number, or a list
  // Two numbers, {y, x}, of one or two given.
  std::array<int64_t, 2> pair(const char* key, int64_t fallback) const;

 private:
  std::string kind_;
  std::string name_;
  const Json* config_ = nullptr;
};

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
};

// Throws `unsupported_op` for a layer that is not supported.
KerasValue run_layer(const KerasCall& call);

// The layers that are supported, sorted.
std::vector<std::string> keras_layer_names();

}  // namespace dala::model::tfjs
