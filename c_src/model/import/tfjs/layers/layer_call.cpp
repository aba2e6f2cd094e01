#include "model/import/tfjs/layers/layer_call.hpp"

#include <utility>

namespace dala::model::tfjs {

HostTensorPtr KerasCall::find_weight(const std::string& suffix, const std::string& within) const {
  const std::string begin = layer.name() + "/";
  if (within.empty()) {
    if (const auto exact = weights.find(begin + suffix); exact != weights.end()) {
      return exact->second;
    }
  }
  // Files of Keras also have the names of cells after that of the layer, and the names of models
  // before it.
  HostTensorPtr result;
  for (const auto& [name, tensor] : weights) {
    if (name.rfind(begin, 0) != 0 && name.find("/" + begin) == std::string::npos) continue;
    if (name.substr(name.rfind('/') + 1) != suffix) continue;
    if (!within.empty() && name.find("/" + within) == std::string::npos) continue;
    if (result != nullptr) reject(text("there are several weights ", suffix));
    result = tensor;
  }
  return result;
}

TensorId KerasCall::weight(const std::string& suffix) const {
  HostTensorPtr found = find_weight(suffix);
  if (found == nullptr) reject(dala::text("the weight ", suffix, " is missing"));
  return builder.constant(std::move(found), layer.name() + "/" + suffix);
}

TensorId KerasCall::bias_of(const KerasConfig& config) const {
  return config.flag("use_bias", true) ? weight("bias") : kNone;
}

void KerasCall::need_rank(int64_t rank) const {
  if (in().rank == rank) return;
  reject(text("the input has ", in().rank, " dimensions, expected ", rank));
}

void KerasCall::need_channels_last() const {
  if (layer.text("data_format", "channels_last") != "channels_last") {
    unsupported("channels first");
  }
}

std::vector<int64_t> KerasCall::axes() const {
  std::vector<int64_t> axes = layer.integers("axis");
  if (axes.empty()) axes = {-1};
  for (int64_t& axis : axes) {
    const int64_t given = axis;
    if (axis < 0) axis += in().rank;
    if (axis < 1 || axis >= in().rank) {
      reject(text("axis is ", given, ", expected 1 to ", in().rank - 1, ", or ", 1 - in().rank,
                  " to -1 from the end"));
    }
  }
  return axes;
}

}  // namespace dala::model::tfjs
