// Reductions, and operators along one axis.
#include "model/import/tfjs/table.hpp"

namespace dala::model::tfjs {
namespace {

void reduce(OpCall& call) {
  call.set(tensorflow::reduce(call.builder, call.onnx, call.in(0), call.in(1),
                              call.node.boolean("keep_dims", false)));
}

// With true as 1 and false as 0, All is the minimum and Any the maximum.
void reduce_truth(OpCall& call) {
  const TensorId numbers = call.builder.cast(call.in(0), ElementType::i32);
  const TensorId reduced = tensorflow::reduce(call.builder, call.onnx, numbers, call.in(1),
                                              call.node.boolean("keep_dims", false));
  call.set(call.builder.cast(reduced, ElementType::boolean));
}

void arg(OpCall& call) {
  // The default axis is 0.
  const TensorId axis = call.inputs.size() > 1 ? call.in(1) : call.builder.integers({0});
  call.set(tensorflow::arg(call.builder, call.onnx, call.in(0), axis, ElementType::i32));
}

void along_last(OpCall& call) {
  call.set(call.builder.add(call.onnx, {call.in(0)}, {{"axis", attr::integer(-1)}}));
}

void cumulative_sum(OpCall& call) {
  call.set(
      call.builder.add("CumSum", {call.in(0), call.in(1)},
                       {{"exclusive", attr::integer(call.node.boolean("exclusive", false) ? 1 : 0)},
                        {"reverse", attr::integer(call.node.boolean("reverse", false) ? 1 : 0)}}));
}

void top_k(OpCall& call) {
  GraphBuilder& builder = call.builder;
  const TensorId k = builder.reshape(builder.cast(call.in(1), ElementType::i64), {1});
  std::vector<TensorId> results =
      builder.add_many("TopK", {call.in(0), k}, 2, {{"axis", attr::integer(-1)}});
  call.outputs = {results[0], builder.cast(results[1], ElementType::i32)};
}

}  // namespace

Operators reduction_operators() {
  return {
      {"All", reduce_truth, "ReduceMin"},
      {"Any", reduce_truth, "ReduceMax"},
      {"ArgMax", arg, "ArgMax"},
      {"ArgMin", arg, "ArgMin"},
      {"Cumsum", cumulative_sum},
      {"LogSoftmax", along_last, "LogSoftmax"},
      {"Max", reduce, "ReduceMax"},
      {"Mean", reduce, "ReduceMean"},
      {"Min", reduce, "ReduceMin"},
      {"Prod", reduce, "ReduceProd"},
      {"Softmax", along_last, "Softmax"},
      {"Sum", reduce, "ReduceSum"},
      {"TopKV2", top_k},
  };
}

}  // namespace dala::model::tfjs
