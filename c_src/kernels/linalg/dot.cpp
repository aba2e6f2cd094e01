// dot: a transposition of each operand whose axes are in another order, and a batched matmul.
#include <algorithm>
#include <numeric>

#include "kernels/checks.hpp"
#include "kernels/compose.hpp"
#include "kernels/linalg/matmul.hpp"
#include "kernels/narrow.hpp"
#include "kernels/shape/shape.hpp"

namespace dala {
namespace {

using Axes = std::vector<size_t>;

// The axes of an operand by their role, each in the order in which it was given.
struct DotSide {
  Axes batch;
  Axes contracted;
  Axes free;
};

Axes dot_axes(const Call& call, const std::string& param, size_t side, Axes fallback) {
  if (!call.has(param)) return fallback;
  const ParamValue& given = call.params.at(param);
  const auto rank = static_cast<int64_t>(call.inputs[side].shape.size());
  Axes axes;
  for (int64_t axis : call.integers(param)) {
    const int64_t counted = axis < 0 ? axis + rank : axis;
    const bool inside = counted >= 0 && counted < rank;
    const auto found = static_cast<size_t>(counted);
    if (!inside || std::find(axes.begin(), axes.end(), found) != axes.end()) {
      throw Error(Reason::invalid_param,
                  text(param, " of dot must name dimensions of input ", side, " (",
                       to_string(call.inputs[side].shape), ") once each, got ", to_string(given)));
    }
    axes.push_back(found);
  }
  return axes;
}

bool contains(const Axes& axes, size_t axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

DotSide dot_side(const Call& call, size_t side) {
  const size_t rank = call.inputs[side].shape.size();
  const bool left = side == 0;
  DotSide found;
  found.batch = dot_axes(call, left ? "left_batch" : "right_batch", side, {});
  // The last axis of the left operand, the first one of the right operand.
  Axes others;
  for (size_t d = 0; d < rank; ++d) {
    if (!contains(found.batch, d)) others.push_back(d);
  }
  const Axes fallback = others.empty() ? Axes{} : Axes{left ? others.back() : others.front()};
  found.contracted = dot_axes(call, left ? "left_axes" : "right_axes", side, fallback);
  for (size_t axis : found.contracted) {
    if (!contains(found.batch, axis)) continue;
    throw Error(Reason::invalid_param, text("dimension ", axis, " of input ", side,
                                            " of dot is both a batch and contracted"));
  }
  for (size_t axis : others) {
    if (!contains(found.contracted, axis)) found.free.push_back(axis);
  }
  return found;
}

Shape extents(const Shape& shape, const Axes& axes) {
  Shape result;
  for (size_t axis : axes) result.push_back(shape[axis]);
  return result;
}

int64_t extent(const Shape& shape, const Axes& axes) {
  int64_t product = 1;
  for (size_t axis : axes) product *= shape[axis];
  return product;
}

void need_equal(const Call& call, const char* what, const Axes& left, const Axes& right) {
  const Shape one = extents(call.inputs[0].shape, left);
  const Shape other = extents(call.inputs[1].shape, right);
  if (one == other) return;
  throw Error(Reason::shape_mismatch,
              text("dot needs ", what, " dimensions that are equal, got ", to_string(one), " of ",
                   to_string(call.inputs[0].shape), " and ", to_string(other), " of ",
                   to_string(call.inputs[1].shape)));
}

void check_dot(const Call& call) {
  need_same_inputs("dot", call);
  need_output_dtype("dot", call, {call.inputs[0].dtype});
  const DotSide left = dot_side(call, 0);
  const DotSide right = dot_side(call, 1);
  need_equal(call, "batch", left.batch, right.batch);
  need_equal(call, "contracted", left.contracted, right.contracted);
  Shape expected = extents(call.inputs[0].shape, left.batch);
  for (size_t side = 0; side < 2; ++side) {
    for (size_t axis : (side == 0 ? left : right).free) {
      expected.push_back(call.inputs[side].shape[axis]);
    }
  }
  need_output_shape("dot", call, {expected});
}

Axes joined(Axes axes, const Axes& more, const Axes& last) {
  axes.insert(axes.end(), more.begin(), more.end());
  axes.insert(axes.end(), last.begin(), last.end());
  return axes;
}

// A batch of matrices, and whether the contracted dimension is the first of a matrix.
struct Matrices3 {
  TensorType type;
  bool contracted_first = false;
  Operand operand;
};

Matrices3 matrices_of(Launch& launch, Planner& planner, const Call& call, size_t index,
                      const DotSide& side, const Descriptor& transpose) {
  const TensorType& given = call.inputs[index];
  const int64_t batch = extent(given.shape, side.batch);
  const int64_t rows = extent(given.shape, side.free);
  const int64_t depth = extent(given.shape, side.contracted);
  const Operand own = input(static_cast<int>(index));
  const auto in_order = [](const Axes& axes) { return std::is_sorted(axes.begin(), axes.end()); };
  if (in_order(joined(side.batch, side.contracted, side.free))) {
    return {{given.dtype, {batch, depth, rows}}, true, own};
  }
  const Axes order = joined(side.batch, side.free, side.contracted);
  const TensorType matrices{given.dtype, {batch, rows, depth}};
  if (in_order(order)) return {matrices, false, own};
  const TensorType moved{given.dtype, extents(given.shape, order)};
  const Operand area = add_scratch(launch, moved);
  const std::vector<double> axes(order.begin(), order.end());
  append_call(launch, planner, transpose, {given}, moved, {{"axes", axes}}, {own}, area);
  return {matrices, false, area};
}

Launch plan_dot(const Descriptor& matmul, const Descriptor& transpose, const Call& call,
                Planner& planner) {
  Launch launch;
  if (call.output.count() == 0) return launch;
  const DotSide left = dot_side(call, 0);
  const DotSide right = dot_side(call, 1);
  const Matrices3 a = matrices_of(launch, planner, call, 0, left, transpose);
  const Matrices3 b = matrices_of(launch, planner, call, 1, right, transpose);
  const TensorType product{call.output.dtype,
                           {a.type.shape[0], extent(call.inputs[0].shape, left.free),
                            extent(call.inputs[1].shape, right.free)}};
  append_call(launch, planner, matmul, {a.type, b.type}, product,
              {{"transpose_a", a.contracted_first}, {"transpose_b", !b.contracted_first}},
              {a.operand, b.operand}, output());
  return launch;
}

ParamSpec dot_param(const std::string& name, const std::string& summary) {
  ParamSpec axes;
  axes.name = name;
  axes.kind = ParamSpec::Kind::axes;
  axes.summary = summary;
  return axes;
}

}  // namespace

Descriptor dot_kernel(const Descriptor& matmul) {
  Descriptor dot;
  dot.name = "dot";
  dot.summary =
      "The sums of products along contracted dimensions, for each position of the others and of "
      "the batch dimensions, which both inputs have; integers wrap.";
  dot.inputs = 2;
  dot.dtypes = kPlainDTypes;
  dot.output_rule =
      "the inputs' element type; the batch dimensions, then the others of input 0, then those of "
      "input 1";
  dot.params = {
      dot_param("left_axes", "the contracted dimensions of input 0; its last when absent"),
      dot_param("right_axes", "those of input 1, in the same order; its first when absent"),
      dot_param("left_batch", "the batch dimensions of input 0; none when absent"),
      dot_param("right_batch", "those of input 1, in the same order; none when absent")};
  dot.check = check_dot;
  dot.plan = [matmul, transpose = transpose_kernel()](const Call& call, Planner& planner) {
    return plan_dot(matmul, transpose, call, planner);
  };
  dot.sample = [](DType dtype) { return Call{{{dtype, {1}}, {dtype, {1}}}, {dtype, {}}, {}}; };
  return with_narrow_floats(dot);
}

}  // namespace dala
