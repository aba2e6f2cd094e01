// Operators along axes: reductions, ArgMax and ArgMin, Softmax and its variants, CumSum.
#include "model/build/views.hpp"
#include "model/ops/families.hpp"

namespace dala::model {
namespace {

template <Reducer op>
void reduction(OpCall& call) {
  const Tensor& x = call.in(0);
  const auto axes = call.integers_or_input("axes", 1).value_or(std::vector<int64_t>());
  if (axes.empty() && call.integer("noop_with_empty_axes", 0) != 0) {
    call.set(0, x);
    return;
  }
  const bool keep = call.integer("keepdims", 1) != 0;
  call.set(0, reduce(call.build, op, x, normal_axes(axes, x.rank()), keep));
}

// The indices of the extremes; the axis is kept with size 1.
Tensor extremes(OpCall& call, const Tensor& x, int64_t axis, bool largest) {
  if (const auto order = order_of(x)) {
    return viewed(extremes(call, x.view->source, place_in(*order, axis), largest), *order);
  }
  AxisWalk walk{};
  walk.outer = extent(x.shape, 0, axis);
  walk.axis = x.dim(axis);
  walk.inner = extent(x.shape, axis + 1, x.rank());
  walk.first_flag = largest ? 1 : 0;
  walk.second_flag = call.integer("select_last_index", 0);
  if (walk.axis == 0) {
    throw Error(Reason::shape_mismatch,
                text("shape ", to_string(x.shape), " is empty along axis ", axis));
  }
  Shape shape = x.shape;
  shape[static_cast<size_t>(axis)] = 1;
  if (largest && walk.second_flag == 0 && x.known == nullptr && x.count() >= 4096 &&
      x.type != ElementType::u64) {
    return call.build.kernel("argmax", {x}, ElementType::i64, shape, {{"axis", axis}});
  }
  Tensor output = call.build.result({x}, ElementType::i64, shape);
  walk.count = output.count();
  call.build.run(math_family(x.type), "arg_extreme", {x}, output, {}, walk,
                 static_cast<double>(walk.axis));
  return output;
}

void arg_extreme(OpCall& call, bool largest) {
  const Tensor& x = call.in(0);
  const int64_t axis = call.axis(0, x.rank());
  const Tensor output = extremes(call, x, axis, largest);
  Shape shape = output.shape;
  if (call.integer("keepdims", 1) == 0) shape.erase(shape.begin() + axis);
  call.set(0, Build::reshaped(output, shape));
}

void arg_max(OpCall& call) { arg_extreme(call, true); }
void arg_min(OpCall& call) { arg_extreme(call, false); }

// The input and axis of Softmax and its variants. Before operator set 13, all dimensions from the
// axis on are merged.
struct Line {
  Tensor x;
  int64_t axis = 0;
};
Line line_of(const OpCall& call) {
  const Tensor& x = call.in(0);
  if (call.opset >= 13) return {x, call.axis(-1, x.rank())};
  const int64_t axis = call.axis(1, x.rank());
  return {Build::reshaped(x, {extent(x.shape, 0, axis), extent(x.shape, axis, x.rank())}), 1};
}

void softmax(OpCall& call) {
  Line line = line_of(call);
  const auto order = order_of(line.x);
  if (order) line = {line.x.view->source, place_in(*order, line.axis)};
  Tensor result =
      call.build.kernel("softmax", {line.x}, line.x.type, line.x.shape, {{"axis", line.axis}});
  if (order) result = viewed(result, *order);
  call.set(0, Build::reshaped(result, call.in(0).shape));
}

void log_softmax(OpCall& call) {
  const Line line = line_of(call);
  const Tensor total = reduce(call.build, REDUCE_LOG_SUM_EXP, line.x, {line.axis}, true);
  const Tensor result = pointwise(call.build, OP_SUB, {line.x, total});
  call.set(0, Build::reshaped(result, call.in(0).shape));
}

// One at the first maximum along the axis, zero elsewhere.
void hard_max(OpCall& call) {
  Build& build = call.build;
  const Line line = line_of(call);
  AxisWalk walk{};
  walk.outer = extent(line.x.shape, 0, line.axis);
  walk.axis = line.x.dim(line.axis);
  walk.inner = extent(line.x.shape, line.axis + 1, line.x.rank());
  walk.first_flag = 1;
  if (walk.axis == 0) {
    throw Error(Reason::shape_mismatch,
                text("shape ", to_string(line.x.shape), " is empty along axis ", line.axis));
  }
  Shape shape = line.x.shape;
  shape[static_cast<size_t>(line.axis)] = 1;
  Tensor best = build.result({line.x}, ElementType::i64, shape);
  walk.count = best.count();
  build.run(math_family(line.x.type), "arg_extreme", {line.x}, best, {}, walk,
            static_cast<double>(walk.axis));
  std::vector<int64_t> numbers(static_cast<size_t>(walk.axis));
  for (int64_t i = 0; i < walk.axis; ++i) numbers[static_cast<size_t>(i)] = i;
  Shape along(line.x.shape.size(), 1);
  along[static_cast<size_t>(line.axis)] = walk.axis;
  const Tensor places = Build::reshaped(build.constant(vector_of(numbers)), along);
  const Tensor hit = compare(build, CMP_EQUAL, best, places);
  const Tensor result = convert(build, hit, line.x.type);
  call.set(0, Build::reshaped(result, call.in(0).shape));
}

void cumulative_sum(OpCall& call) {
  const Tensor& x = call.in(0);
  const int64_t axis = normal_axis(call.build.values(call.in(1)).integer(0), x.rank());
  AxisWalk walk{};
  walk.outer = extent(x.shape, 0, axis);
  walk.axis = x.dim(axis);
  walk.inner = extent(x.shape, axis + 1, x.rank());
  walk.first_flag = call.integer("exclusive", 0);
  walk.second_flag = call.integer("reverse", 0);
  walk.count = walk.outer * walk.inner;
  Tensor output = call.build.result({x}, x.type, x.shape);
  call.build.run(math_family(x.type), "cumulate", {x}, output, {}, walk,
                 static_cast<double>(walk.axis));
  call.set(0, output);
}

}  // namespace

Operators reduction_operators() {
  return {
      {"ArgMax", arg_max},
      {"ArgMin", arg_min},
      {"CumSum", cumulative_sum},
      {"Hardmax", hard_max},
      {"LogSoftmax", log_softmax},
      {"ReduceL1", reduction<REDUCE_L1>},
      {"ReduceL2", reduction<REDUCE_L2>},
      {"ReduceLogSum", reduction<REDUCE_LOG_SUM>},
      {"ReduceLogSumExp", reduction<REDUCE_LOG_SUM_EXP>},
      {"ReduceMax", reduction<REDUCE_MAX>},
      {"ReduceMean", reduction<REDUCE_MEAN>},
      {"ReduceMin", reduction<REDUCE_MIN>},
      {"ReduceProd", reduction<REDUCE_PROD>},
      {"ReduceSum", reduction<REDUCE_SUM>},
      {"ReduceSumSquare", reduction<REDUCE_SUM_SQUARE>},
      {"Softmax", softmax},
  };
}

}  // namespace dala::model
