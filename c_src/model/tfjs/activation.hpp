// What fused operators end with: a bias, then an activation.
#pragma once

#include "model/tfjs/op_call.hpp"

namespace dala::model::tfjs {

// What `fused_ops` of a node asks for. The inputs after the first `operands` are its arguments.
struct Fused {
  TensorId bias = kNone;
  channels_last::Finish finish;  // an activation that convolutions take along,
  std::string activation;        // or one of its own, with
  TensorId slope = kNone;        // what Prelu has for each channel
};
Fused fused_of(const OpCall& call, size_t operands);

// The result with the activation that is not part of `finish`.
TensorId activated(OpCall& call, TensorId x, const Fused& fused);

TensorId relu6(GraphBuilder& builder, TensorId x);

}  // namespace dala::model::tfjs
