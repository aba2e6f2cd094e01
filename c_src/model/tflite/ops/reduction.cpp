// Sums, means and the like along axes, and products of matrices.
#include "model/tensorflow.hpp"
#include "model/tflite/ops/table.hpp"

namespace dala::model::tflite {
namespace {

template <auto& kName>
void reduction(Call& call) {
  call.set(0, tensorflow::reduce(call.builder, kName, call.in(0), call.in(1), call.flag(0)));
}

// Any or all of what is true or not.
template <auto& kName>
void logical(Call& call) {
  const TensorId numbers = call.builder.cast(call.in(0), ElementType::i32);
  const TensorId y = tensorflow::reduce(call.builder, kName, numbers, call.in(1), call.flag(0));
  call.set(0, call.builder.cast(y, ElementType::boolean));
}

template <auto& kName>
void place(Call& call) {
  call.set(0, tensorflow::arg(call.builder, kName, call.in(0), call.in(1), call.out_info(0).type));
}

void softmax(Call& call) {
  TensorId x = call.in(0);
  const double beta = call.real(0);
  if (beta != 1) x = call.builder.add("Mul", {x, call.builder.scalar(beta)});
  call.set(0, call.builder.add("Softmax", {x}, {{"axis", attr::integer(-1)}}));
}

void log_softmax(Call& call) {
  call.set(0, call.builder.add("LogSoftmax", {call.in(0)}, {{"axis", attr::integer(-1)}}));
}

// Divided by its length along the last axis, which counts as at least 10^-3.
void l2_normalization(Call& call) {
  GraphBuilder& builder = call.builder;
  const TensorId x = call.in(0);
  const TensorId squares = builder.add("ReduceSumSquare", {x, builder.integers({-1})});
  const TensorId length =
      builder.add("Sqrt", {builder.add("Max", {squares, builder.scalar(1e-6)})});
  call.set(0, channels_last::finished(builder, builder.add("Div", {x, length}), call.finish(0)));
}

void cumulative_sum(Call& call) {
  call.set(0, call.builder.add("CumSum", {call.in(0), call.in(1)},
                               {{"exclusive", attr::integer(call.flag(0) ? 1 : 0)},
                                {"reverse", attr::integer(call.flag(1) ? 1 : 0)}}));
}

void top_k(Call& call) {
  GraphBuilder& builder = call.builder;
  const TensorId k = builder.integers(builder.known_integers(call.in(1), "a number of results"));
  const auto results = builder.add_many("TopK", {call.in(0), k}, 2, {{"axis", attr::integer(-1)}});
  call.set(0, results[0]);
  call.set(1, builder.cast(results[1], call.out_info(1).type));
}

void fully_connected(Call& call) {
  if (call.byte(1) != 0) Call::unsupported("weights in a shuffled order");
  call.set(0, tensorflow::fully_connected(call.builder, call.in(0), call.in(1), call.optional(2),
                                          call.flag(2), call.finish(0)));
}

void batch_matmul(Call& call) {
  const auto operand = [&](size_t index, bool adjoint) {
    const auto rank = static_cast<int64_t>(call.in_info(index).shape.size());
    if (!adjoint || rank < 2) return call.in(index);
    std::vector<int64_t> perm;
    for (int64_t d = 0; d < rank - 2; ++d) perm.push_back(d);
    perm.push_back(rank - 1);
    perm.push_back(rank - 2);
    return call.builder.transpose(call.in(index), perm);
  };
  call.set(0, call.builder.add("MatMul", {operand(0, call.flag(0)), operand(1, call.flag(1))}));
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
