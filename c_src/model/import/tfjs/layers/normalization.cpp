// Normalizations by stored statistics, or by those of each position.
#include <cmath>

#include "model/import/common/channels_last.hpp"
#include "model/import/tfjs/layers/table.hpp"

namespace dala::model::tfjs {
namespace {

// (x - mean) / sqrt(variance + epsilon) * gamma + beta along the last axis.
KerasValue batch_normalization(const KerasCall& call) {
  const std::vector<int64_t> axes = call.axes();
  const int64_t rank = call.in().rank;
  if (axes != std::vector<int64_t>{rank - 1}) unsupported("another axis than the last");
  const HostTensorPtr mean = call.find_weight("moving_mean");
  const HostTensorPtr variance = call.find_weight("moving_variance");
  if (mean == nullptr || variance == nullptr) {
    reject("the weights moving_mean and moving_variance are missing");
  }
  if (mean->shape != variance->shape || mean->shape.size() != 1) {
    reject(text("moving_mean has shape ", to_string(mean->shape), " and moving_variance ",
                to_string(variance->shape), ", expected one dimension of the same size"));
  }
  const auto filled = [&](const char* option, const char* name, double value) -> HostTensorPtr {
    if (call.layer.flag(option, true)) {
      HostTensorPtr found = call.find_weight(name);
      if (found == nullptr || found->shape != mean->shape) {
        reject(text("the weight ", name, " is missing or has another shape"));
      }
      return found;
    }
    auto tensor = std::make_shared<HostTensor>(ElementType::f32, mean->shape);
    for (int64_t i = 0; i < tensor->count(); ++i) tensor->set(i, value);
    return tensor;
  };
  GraphBuilder& builder = call.builder;
  const std::vector<HostTensorPtr> params{filled("scale", "gamma", 1), filled("center", "beta", 0),
                                          mean, variance};
  const double epsilon = call.layer.real("epsilon", 1e-3);
  if (rank == 4) {
    std::vector<TensorId> inputs{channels_last::to_planes(builder, call.in().tensor)};
    for (const HostTensorPtr& each : params) inputs.push_back(builder.constant(each));
    const TensorId y =
        builder.add("BatchNormalization", inputs, {{"epsilon", attr::real(epsilon)}});
    return {channels_last::from_planes(builder, y), rank};
  }
  auto factor = std::make_shared<HostTensor>(ElementType::f32, mean->shape);
  auto shift = std::make_shared<HostTensor>(ElementType::f32, mean->shape);
  for (int64_t i = 0; i < mean->count(); ++i) {
    const double each = params[0]->number(i) / std::sqrt(variance->number(i) + epsilon);
    factor->set(i, each);
    shift->set(i, params[1]->number(i) - mean->number(i) * each);
  }
  const TensorId scaled = builder.add("Mul", {call.in().tensor, builder.constant(factor)});
  return {builder.add("Add", {scaled, builder.constant(shift)}), rank};
}

KerasValue layer_normalization(const KerasCall& call) {
  const std::vector<int64_t> axes = call.axes();
  const int64_t rank = call.in().rank;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != rank - static_cast<int64_t>(axes.size() - i)) {
      unsupported("other axes than the last ones");
    }
  }
  GraphBuilder& builder = call.builder;
  const bool scale = call.layer.flag("scale", true);
  std::vector<TensorId> inputs{call.in().tensor, scale ? call.weight("gamma") : builder.scalar(1)};
  if (call.layer.flag("center", true)) inputs.push_back(call.weight("beta"));
  return {builder.add("LayerNormalization", inputs,
                      {{"axis", attr::integer(axes[0])},
                       {"epsilon", attr::real(call.layer.real("epsilon", 1e-3))}}),
          rank};
}

}  // namespace

Layers normalization_layers() {
  return {
      {"BatchNormalization", batch_normalization},
      {"LayerNormalization", layer_normalization},
  };
}

}  // namespace dala::model::tfjs
