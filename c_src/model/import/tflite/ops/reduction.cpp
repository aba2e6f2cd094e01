// Reductions, operators along one axis, and matrix products.
#include "model/import/common/tensorflow.hpp"
#include "model/import/tflite/schema.hpp"
#include "model/import/tflite/table.hpp"

namespace dala::model::tflite {
namespace {

template <auto& kName>
void reduction(OpCall& call) {
  call.set(0, tensorflow::reduce(call.builder, kName, call.in(0), call.in(1),
                                 call.flag(option::kReducerKeepDims)));
}

// REDUCE_ANY and REDUCE_ALL as the maximum and minimum of 0 and 1.
template <auto& kName>
void logical(OpCall& call) {
  const TensorId numbers = call.builder.cast(call.in(0), ElementType::i32);
  const TensorId y = tensorflow::reduce(call.builder, kName, numbers, call.in(1),
                                        call.flag(option::kReducerKeepDims));
  call.set(0, call.builder.cast(y, ElementType::boolean));
}

template <auto& kName>
void place(OpCall& call) {
  call.set(0, tensorflow::arg(call.builder, kName, call.in(0), call.in(1), call.out_info(0).type));
}

void softmax(OpCall& call) {
  TensorId x = call.in(0);
  const double beta = call.real(option::kSoftmaxBeta);
  if (beta != 1) x = call.builder.add("Mul", {x, call.builder.scalar(beta)});
  call.set(0, call.builder.add("Softmax", {x}, {{"axis", attr::integer(-1)}}));
}

void log_softmax(OpCall& call) {
  call.set(0, call.builder.add("LogSoftmax", {call.in(0)}, {{"axis", attr::integer(-1)}}));
}

// x divided by its norm along the last axis, which is clamped to at least 1e-3.
void l2_normalization(OpCall& call) {
  GraphBuilder& builder = call.builder;
  const TensorId x = call.in(0);
  const TensorId squares = builder.add("ReduceSumSquare", {x, builder.integers({-1})});
  const TensorId length =
      builder.add("Sqrt", {builder.add("Max", {squares, builder.scalar(1e-6)})});
  call.set(0, channels_last::with_epilogue(builder, builder.add("Div", {x, length}),
                                           call.epilogue(option::kL2NormActivation)));
}

void cumulative_sum(OpCall& call) {
  call.set(0, call.builder.add(
                  "CumSum", {call.in(0), call.in(1)},
                  {{"exclusive", attr::integer(call.flag(option::kCumSumExclusive) ? 1 : 0)},
                   {"reverse", attr::integer(call.flag(option::kCumSumReverse) ? 1 : 0)}}));
}

void top_k(OpCall& call) {
  GraphBuilder& builder = call.builder;
  const TensorId k = builder.integers(builder.known_integers(call.in(1), "a k"));
  const auto results = builder.add_many("TopK", {call.in(0), k}, 2, {{"axis", attr::integer(-1)}});
  call.set(0, results[0]);
  call.set(1, builder.cast(results[1], call.out_info(1).type));
}

void fully_connected(OpCall& call) {
  const auto format = static_cast<WeightsFormat>(call.byte(option::kFullyConnectedWeightsFormat));
  if (format != WeightsFormat::standard) unsupported("shuffled weights");
  call.set(0, tensorflow::fully_connected(call.builder, call.in(0), call.in(1), call.optional(2),
                                          call.flag(option::kFullyConnectedKeepNumDims),
                                          call.epilogue(option::kFullyConnectedActivation)));
}

void batch_matmul(OpCall& call) {
  const auto operand = [&](size_t index, bool adjoint) {
    const auto rank = static_cast<int64_t>(call.in_info(index).shape.size());
    if (!adjoint || rank < 2) return call.in(index);
    std::vector<int64_t> perm;
    for (int64_t d = 0; d < rank - 2; ++d) perm.push_back(d);
    perm.push_back(rank - 1);
    perm.push_back(rank - 2);
    return call.builder.transpose(call.in(index), perm);
  };
  call.set(0, call.builder.add("MatMul", {operand(0, call.flag(option::kBatchMatMulAdjX)),
                                          operand(1, call.flag(option::kBatchMatMulAdjY))}));
}

constexpr char kArgMax[] = "ArgMax";
constexpr char kArgMin[] = "ArgMin";
constexpr char kReduceMax[] = "ReduceMax";
constexpr char kReduceMean[] = "ReduceMean";
constexpr char kReduceMin[] = "ReduceMin";
constexpr char kReduceProd[] = "ReduceProd";
constexpr char kReduceSum[] = "ReduceSum";

}  // namespace

Operators reduction_operators() {
  return {
      {"ARG_MAX", place<kArgMax>},
      {"ARG_MIN", place<kArgMin>},
      {"BATCH_MATMUL", batch_matmul},
      {"CUMSUM", cumulative_sum},
      {"FULLY_CONNECTED", fully_connected, Keeps::itself},
      {"L2_NORMALIZATION", l2_normalization, Keeps::bounds},
      {"LOG_SOFTMAX", log_softmax},
      {"MEAN", reduction<kReduceMean>, Keeps::values},
      {"REDUCE_ALL", logical<kReduceMin>},
      {"REDUCE_ANY", logical<kReduceMax>},
      {"REDUCE_MAX", reduction<kReduceMax>, Keeps::values},
      {"REDUCE_MIN", reduction<kReduceMin>, Keeps::values},
      {"REDUCE_PROD", reduction<kReduceProd>},
      {"SOFTMAX", softmax, Keeps::bounds},
      {"SUM", reduction<kReduceSum>},
      {"TOPK_V2", top_k, Keeps::values},
  };
}

}  // namespace dala::model::tflite
