// The fused epilogue of TF.js operators: a bias, then an activation.
#pragma once

#include "model/import/tfjs/op_call.hpp"

namespace dala::model::tfjs {

// The epilogue that the attribute `fused_ops` lists. The inputs after the first `operands` are its
// arguments.
struct Fused {
  TensorId bias = kNone;
  channels_last::Epilogue epilogue;  // an activation that can be fused into a convolution,
  std::string activation;            // or one that becomes a separate node
  TensorId slope = kNone;            // of Prelu, per channel
};
Fused fused_of(const OpCall& call, size_t operands);

// Applies the activation that is not part of `epilogue`.
TensorId activated(OpCall& call, TensorId x, const Fused& fused);

TensorId relu6(GraphBuilder& builder, TensorId x);

}  // namespace dala::model::tfjs
