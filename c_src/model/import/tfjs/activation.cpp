#include "model/import/tfjs/activation.hpp"

#include "runtime/error.hpp"

namespace dala::model::tfjs {

Fused fused_of(const OpCall& call, size_t operands) {
  using channels_last::Activation;
  Fused fused;
  size_t next = operands;
  for (const std::string& op : call.node.texts("fused_ops")) {
    if (op == "BiasAdd" && fused.bias == kNone) {
      fused.bias = call.in(next++);
    } else if (op == "Relu") {
      fused.epilogue.activation = Activation::relu;
    } else if (op == "Relu6") {
      fused.epilogue.activation = Activation::relu6;
    } else if (op == "Tanh") {
      fused.epilogue.activation = Activation::tanh;
    } else if (op == "Sigmoid") {
      fused.epilogue.activation = Activation::sigmoid;
    } else if (op == "Prelu") {
      fused.activation = op;
      fused.slope = call.in(next++);
    } else if (op == "Elu" || op == "LeakyRelu") {
      fused.activation = op;
    } else {
      unsupported(text("a fused ", op));
    }
  }
  return fused;
}

TensorId activated(OpCall& call, TensorId x, const Fused& fused) {
  if (fused.activation == "Prelu") return call.builder.add("PRelu", {x, fused.slope});
  if (fused.activation == "Elu") return call.builder.add("Elu", {x});
  if (fused.activation == "LeakyRelu") {
    const double slope = call.node.real("leakyrelu_alpha", 0.2);
    return call.builder.add("LeakyRelu", {x}, {{"alpha", attr::real(slope)}});
  }
  return x;
}

TensorId relu6(GraphBuilder& builder, TensorId x) {
  return channels_last::with_epilogue(builder, x, {.activation = channels_last::Activation::relu6});
}

}  // namespace dala::model::tfjs
