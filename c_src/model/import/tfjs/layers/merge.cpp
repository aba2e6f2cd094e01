// Layers with several inputs.
#include <algorithm>

#include "model/import/tfjs/layers/table.hpp"

namespace dala::model::tfjs {
namespace {

KerasValue concatenate(const KerasCall& call) {
  std::vector<TensorId> parts;
  for (const KerasValue& each : call.inputs) parts.push_back(each.tensor);
  return {
      call.builder.add("Concat", parts, {{"axis", attr::integer(call.layer.integer("axis", -1))}}),
      call.in().rank};
}

// An input of fewer axes gets axes of size 1 after the batch.
KerasValue merged(const KerasCall& call, const char* op) {
  GraphBuilder& builder = call.builder;
  int64_t rank = 0;
  for (const KerasValue& each : call.inputs) rank = std::max(rank, each.rank);
  const auto widened = [&](const KerasValue& value) {
    std::vector<int64_t> axes;
    for (int64_t d = value.rank; d < rank; ++d) axes.push_back(1 + d - value.rank);
    return axes.empty() ? value.tensor
                        : builder.add("Unsqueeze", {value.tensor, builder.integers(axes)});
  };
  TensorId result = widened(call.in());
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    result = builder.add(op, {result, widened(call.inputs[i])});
  }
  return {result, rank};
}

KerasValue add(const KerasCall& call) { return merged(call, "Add"); }
KerasValue multiply(const KerasCall& call) { return merged(call, "Mul"); }
KerasValue maximum(const KerasCall& call) { return merged(call, "Max"); }
KerasValue minimum(const KerasCall& call) { return merged(call, "Min"); }
KerasValue average(const KerasCall& call) {
  const KerasValue sum = merged(call, "Add");
  const double share = 1.0 / static_cast<double>(call.inputs.size());
  return {call.builder.add("Mul", {sum.tensor, call.builder.scalar(share)}), sum.rank};
}

}  // namespace

Layers merge_layers() {
  return {
      {"Add", add},         {"Average", average}, {"Concatenate", concatenate},
      {"Maximum", maximum}, {"Minimum", minimum}, {"Multiply", multiply},
  };
}

}  // namespace dala::model::tfjs
