// Classification losses. Targets have the shape {n, d1, ...} for scores of {n, c, d1, ...}.
#include "kernels/elementwise/broadcast.hpp"
#include "model/ops/families.hpp"

namespace dala::model {
namespace {

[[noreturn]] void reject_targets(const Tensor& targets, const Tensor& scores) {
  throw Error(Reason::shape_mismatch,
              text("targets of shape ", to_string(targets.shape), " do not fit scores of shape ",
                   to_string(scores.shape)));
}

// -weights[target] * scores[target], without targets equal to ignore_index.
Tensor likelihood_loss(OpCall& call, const Tensor& scores, const Tensor& targets,
                       const Tensor* weights) {
  Build& build = call.build;
  if (scores.rank() < 2 || targets.rank() != scores.rank() - 1 || scores.rank() > MODEL_RANK) {
    reject_targets(targets, scores);
  }
  Shape column = targets.shape;
  column.insert(column.begin() + 1, 1);
  for (size_t d = 0; d < column.size(); ++d) {
    if (d != 1 && column[d] != scores.shape[d]) reject_targets(targets, scores);
  }
  Tensor places = convert(build, Build::reshaped(targets, column), ElementType::i64);
  const bool ignores = call.has_attribute("ignore_index");
  Tensor ignored;
  if (ignores) {
    const auto index = static_cast<double>(call.integer("ignore_index", 0));
    ignored = compare(build, CMP_EQUAL, places, scalar(build, places.type, index));
    places = choose(build, ignored, scalar(build, places.type, 0), places);
  }
  IndexWalk walk{};
  walk.rank = scores.rank();
  walk.wide = 1;
  walk.axis = scores.rank() - 2;
  const Shape strides = strides_of(scores.shape);
  for (int64_t d = 0; d < walk.rank; ++d) {
    const auto from = static_cast<size_t>(walk.rank - 1 - d);
    walk.dims[d] = scores.shape[from];
    walk.strides[d] = strides[from];
    walk.index_dims[d] = column[from];
  }
  Tensor picked = build.result({scores, places}, scores.type, column);
  walk.count = picked.count();
  build.run(move_family(scores.type), "gather_elements", {scores, places}, picked, {}, walk, 4);

  Tensor factors = weights != nullptr ? gather(build, *weights, 0, places)
                                      : filled(build, scores.type, column, 1);
  if (ignores) factors = choose(build, ignored, scalar(build, scores.type, 0), factors);
  const Tensor loss = pointwise(build, OP_NEG, {pointwise(build, OP_MUL, {picked, factors})});
  const std::string reduction = call.text("reduction", "mean");
  if (reduction == "none") return Build::reshaped(loss, targets.shape);
  const auto axes = normal_axes({}, loss.rank());
  const Tensor sum = reduce(build, REDUCE_SUM, loss, axes, false);
  if (reduction == "sum") return sum;
  return pointwise(build, OP_DIV, {sum, reduce(build, REDUCE_SUM, factors, axes, false)});
}

void negative_log_likelihood_loss(OpCall& call) {
  call.set(0, likelihood_loss(call, call.in(0), call.in(1), call.has(2) ? &call.in(2) : nullptr));
}

void softmax_cross_entropy_loss(OpCall& call) {
  const Tensor& x = call.in(0);
  const Tensor total = reduce(call.build, REDUCE_LOG_SUM_EXP, x, {1}, true);
  const Tensor scores = pointwise(call.build, OP_SUB, {x, total});
  call.set(0, likelihood_loss(call, scores, call.in(1), call.has(2) ? &call.in(2) : nullptr));
  call.set(1, scores);
}

}  // namespace

Operators loss_operators() {
  return {
      {"NegativeLogLikelihoodLoss", negative_log_likelihood_loss},
      {"SoftmaxCrossEntropyLoss", softmax_cross_entropy_loss},
  };
}

}  // namespace dala::model
