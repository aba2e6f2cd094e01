// Matrix products.
#include "model/import/tfjs/activation.hpp"
#include "model/import/tfjs/table.hpp"

namespace dala::model::tfjs {
namespace {

// MatMul and _FusedMatMul, with an optional fused bias and activation.
void matmul(OpCall& call) {
  const Fused fused = fused_of(call, 2);
  std::vector<TensorId> inputs{call.in(0), call.in(1)};
  if (fused.bias != kNone) inputs.push_back(fused.bias);
  const auto transposed = [&](const char* attribute) {
    return attr::integer(call.node.boolean(attribute, false) ? 1 : 0);
  };
  TensorId y = call.builder.add(
      "Gemm", std::move(inputs),
      {{"transA", transposed("transpose_a")}, {"transB", transposed("transpose_b")}});
  y = channels_last::with_epilogue(call.builder, y, fused.epilogue);
  call.set(activated(call, y, fused));
}

// Batches of matrices; the batch dimensions broadcast.
void batch_matmul(OpCall& call) {
  const bool first = call.node.boolean("adj_x", false);
  const bool second = call.node.boolean("adj_y", false);
  if (!first && !second) {
    call.set(call.builder.add("MatMul", {call.in(0), call.in(1)}));
    return;
  }
  const std::string equation =
      std::string(first ? "...ji" : "...ij") + (second ? ",...kj" : ",...jk") + "->...ik";
  call.set(
      call.builder.add("Einsum", {call.in(0), call.in(1)}, {{"equation", attr::text(equation)}}));
}

void einsum(OpCall& call) {
  call.in(0);
  call.set(call.builder.add("Einsum", call.inputs,
                            {{"equation", attr::text(call.node.text("equation", ""))}}));
}

}  // namespace

Operators matrix_operators() {
  return {
      {"BatchMatMul", batch_matmul},
      {"BatchMatMulV2", batch_matmul},
      {"BatchMatMulV3", batch_matmul},
      {"Einsum", einsum},
      {"MatMul", matmul},
      {"_FusedMatMul", matmul},
  };
}

}  // namespace dala::model::tfjs
