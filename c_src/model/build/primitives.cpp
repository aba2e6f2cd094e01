#include "model/build/primitives.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/elementwise/broadcast.hpp"
#include "model/build/views.hpp"
#include "model/graph/problem.hpp"

namespace dala::model {
namespace {

// From this many elements on, any kernel of the registry for a single operation saves more time
// than its compilation costs.
constexpr int64_t kVeryLarge = 32 * 1024;

bool plain(ElementType type) { return computed_as(type) == ElementType::f32; }

// The registry's kernel for a common operation on floats.
const char* common_kernel(Arithmetic op) {
  switch (op) {
    case OP_ADD:
      return "elementwise_add";
    case OP_SUB:
      return "elementwise_sub";
    case OP_MUL:
      return "elementwise_mul";
    case OP_DIV:
      return "elementwise_div";
    case OP_RELU:
      return "relu";
    case OP_SIGMOID:
      return "sigmoid";
    case OP_TANH:
      return "tanh";
    case OP_EXP:
      return "exp";
    case OP_SQRT:
      return "sqrt";
    default:
      return nullptr;
  }
}

// The registry's kernel for any other operation on floats with the same definition. There is none
// for OP_ROUND, which rounds halves to even, and OP_ERF, which is a faster approximation.
const char* single_kernel(Arithmetic op) {
  switch (op) {
    case OP_ABS:
      return "abs";
    case OP_NEG:
      return "neg";
    case OP_CEIL:
      return "ceil";
    case OP_FLOOR:
      return "floor";
    case OP_LOG:
      return "log";
    case OP_SIN:
      return "sin";
    case OP_COS:
      return "cos";
    case OP_TAN:
      return "tan";
    case OP_SIGN:
      return "sign";
    case OP_POW:
      return "elementwise_pow";
    case OP_MIN:
      return "elementwise_min";
    case OP_MAX:
      return "elementwise_max";
    default:
      return nullptr;
  }
}

const char* comparison_kernel(Comparison op) {
  switch (op) {
    case CMP_EQUAL:
      return "equal";
    case CMP_LESS:
      return "less";
    case CMP_LESS_EQUAL:
      return "less_equal";
    case CMP_GREATER:
      return "greater";
    case CMP_GREATER_EQUAL:
      return "greater_equal";
    default:
      return nullptr;
  }
}

Shape without(const Shape& shape, const std::vector<int64_t>& axes) {
  Shape rest;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool named = std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
    if (!named) rest.push_back(shape[d]);
  }
  return rest;
}

bool is_very_large(const Shape& shape) {
  return extent(shape, 0, static_cast<int64_t>(shape.size())) >= kVeryLarge;
}

bool all_known(const std::vector<Tensor>& inputs) {
  return std::all_of(inputs.begin(), inputs.end(),
                     [](const Tensor& input) { return input.known != nullptr; });
}

}  // namespace

Family math_family(ElementType type) { return {Family::Kind::math, computed_as(type), 0}; }

Tensor pointwise(Build& build, Arithmetic op, const std::vector<Tensor>& inputs, double p,
                 double q) {
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) {
    shapes.push_back(input.shape);
    if (computed_as(input.type) != computed_as(inputs[0].type)) {
      throw Error(Reason::dtype_mismatch,
                  text("the inputs have different element types, ", to_string(inputs[0].type),
                       " and ", to_string(input.type)));
    }
  }
  const Shape shape = broadcast_shape(shapes);
  if (const auto order = shared_order(inputs, shape)) {
    return viewed(pointwise(build, op, all_arranged(build, inputs, *order), p, q), *order);
  }
  const ElementType type = inputs[0].type;
  const int64_t count = checked_type(storage_of(type), shape).count();
  if (!all_known(inputs) && plain(type) && count >= kLargeTensor) {
    const char* name = common_kernel(op);
    if (name == nullptr && count >= kVeryLarge) name = single_kernel(op);
    if (name != nullptr) return build.kernel(name, inputs, type, shape, {});
    if (op == OP_LEAKY_RELU) return build.kernel("relu", inputs, type, shape, {{"slope", p}});
    if (op == OP_CLIP && inputs[1].known != nullptr && inputs[2].known != nullptr &&
        inputs[1].count() == 1 && inputs[2].count() == 1 && inputs[0].shape == shape &&
        inputs[1].known->number(0) <= inputs[2].known->number(0)) {
      return build.kernel(
          "clamp", {inputs[0]}, type, shape,
          {{"min", inputs[1].known->number(0)}, {"max", inputs[2].known->number(0)}});
    }
  }

  std::vector<WalkOperand> operands;
  for (size_t n = 0; n < 3; ++n) {
    operands.push_back({broadcast_strides(inputs[n < inputs.size() ? n : 0].shape, shape), 0});
  }
  Tensor output = build.result(inputs, type, shape);
  std::vector<Tensor> given = inputs;
  while (given.size() < 3) given.push_back(inputs[0]);
  Family family = math_family(type);
  if (is_float(type) && count >= kVeryLarge) family.fixed_op = op;
  build.run(
      family, "pointwise", given, output,
      {value(static_cast<int32_t>(op)), value(static_cast<float>(p)), value(static_cast<float>(q))},
      make_walk(shape, operands, {strides_of(shape), 0}), 4);
  return output;
}

Tensor compare(Build& build, Comparison op, const Tensor& x, const Tensor& y, double p, double q) {
  if (computed_as(x.type) != computed_as(y.type)) {
    throw Error(Reason::dtype_mismatch, text("the inputs have different element types, ",
                                             to_string(x.type), " and ", to_string(y.type)));
  }
  const Shape shape = broadcast_shape({x.shape, y.shape});
  if (const auto order = shared_order({x, y}, shape)) {
    const std::vector<Tensor> lying = all_arranged(build, {x, y}, *order);
    return viewed(compare(build, op, lying[0], lying[1], p, q), *order);
  }
  const char* name = comparison_kernel(op);
  if (name != nullptr && !all_known({x, y}) && plain(x.type) && is_very_large(shape)) {
    return build.kernel(name, {x, y}, ElementType::boolean, shape, {});
  }
  Tensor output = build.result({x, y}, ElementType::boolean, shape);
  build.run(
      math_family(x.type), "compare", {x, y}, output,
      {value(static_cast<int32_t>(op)), value(static_cast<float>(p)), value(static_cast<float>(q))},
      make_walk(shape,
                {{broadcast_strides(x.shape, shape), 0}, {broadcast_strides(y.shape, shape), 0}},
                {strides_of(shape), 0}),
      2);
  return output;
}

Tensor choose(Build& build, const Tensor& condition, const Tensor& yes, const Tensor& no) {
  if (yes.type != no.type) {
    throw Error(Reason::dtype_mismatch, text("the inputs have different element types, ",
                                             to_string(yes.type), " and ", to_string(no.type)));
  }
  const Shape shape = broadcast_shape({condition.shape, yes.shape, no.shape});
  if (const auto order = shared_order({condition, yes, no}, shape)) {
    const std::vector<Tensor> lying = all_arranged(build, {condition, yes, no}, *order);
    return viewed(choose(build, lying[0], lying[1], lying[2]), *order);
  }
  if (!all_known({condition, yes, no}) && is_very_large(shape)) {
    return build.kernel("select", {condition, yes, no}, yes.type, shape, {});
  }
  Tensor output = build.result({condition, yes, no}, yes.type, shape);
  build.run(move_family(yes.type), "choose", {condition, yes, no}, output, {},
            make_walk(shape,
                      {{broadcast_strides(condition.shape, shape), 0},
                       {broadcast_strides(yes.shape, shape), 0},
                       {broadcast_strides(no.shape, shape), 0}},
                      {strides_of(shape), 0}),
            2);
  return output;
}

Tensor convert(Build& build, const Tensor& x, ElementType to) {
  if (const auto order = order_of(x)) return viewed(convert(build, x.view->source, to), *order);
  // f16 and bf16 are stored as f32, so widening them is a copy; narrowing has to round.
  const bool widens = computed_as(x.type) == to && is_float(to);
  if (x.type == to || widens || (x.type == ElementType::boolean && to == ElementType::u8)) {
    Tensor result = x;
    result.type = to;
    if (x.known != nullptr && x.type != to) {
      result.known = std::make_shared<HostTensor>(*x.known);
      result.known->type = to;
    }
    return result;
  }
  Tensor output = build.result({x}, to, x.shape);
  Walk walk{};
  walk.count = x.count();
  build.run({Family::Kind::convert, to, 0}, "convert", {x}, output,
            {value(static_cast<int32_t>(x.type)), value(static_cast<int32_t>(to))}, walk, 4);
  return output;
}

Tensor scalar(Build& build, ElementType type, double value) {
  return build.constant(scalar_of(type, value));
}

Tensor filled(Build& build, ElementType type, const Shape& shape, double value) {
  const HostTensorPtr one = scalar_of(type, value);
  Tensor output = build.result({}, type, shape);
  build.fill(output, dala::Value{one->bytes});
  return output;
}

Tensor reduce(Build& build, Reducer op, const Tensor& x, const std::vector<int64_t>& axes,
              bool keep) {
  if (const auto order = order_of(x)) {
    std::vector<int64_t> lying;
    for (int64_t axis : axes) lying.push_back(place_in(*order, axis));
    std::sort(lying.begin(), lying.end());
    const Tensor result = viewed(reduce(build, op, x.view->source, lying, true), *order);
    return keep ? result : Build::reshaped(result, without(x.shape, axes));
  }
  const Shape own = strides_of(x.shape);
  Shape kept;
  Shape shape;
  Reduction view{};
  view.total = 1;
  for (size_t d = x.shape.size(); d-- > 0;) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
    if (reduced) {
      view.total *= x.shape[d];
      if (keep) shape.insert(shape.begin(), 1);
    } else {
      shape.insert(shape.begin(), x.shape[d]);
    }
    if (x.shape[d] == 1) continue;
    long& rank = reduced ? view.reduced_rank : view.rank;
    long* dims = reduced ? view.reduced_dims : view.dims;
    long* strides = reduced ? view.reduced_strides : view.strides;
    if (rank > 0 && strides[rank - 1] * dims[rank - 1] == own[d]) {
      dims[rank - 1] *= x.shape[d];
      continue;
    }
    if (rank == MODEL_RANK) {
      unsupported(text("a reduction of ", to_string(x.shape), " has too many dimensions"));
    }
    dims[rank] = x.shape[d];
    strides[rank] = own[d];
    ++rank;
  }
  if (view.reduced_rank == 0) {
    view.reduced_rank = 1;
    view.reduced_dims[0] = view.total;
  }
  view.count = extent(shape, 0, static_cast<int64_t>(shape.size()));

  const bool fast = op == REDUCE_SUM || op == REDUCE_MEAN || op == REDUCE_MIN || op == REDUCE_MAX;
  const bool one_axis = view.rank + view.reduced_rank <= 3 && view.reduced_rank == 1;
  if (fast && one_axis && plain(x.type) && x.known == nullptr && x.count() >= kLargeTensor &&
      view.total > 0 && axes.size() == static_cast<size_t>(axes.back() - axes.front() + 1)) {
    const char* name = op == REDUCE_SUM    ? "reduce_sum"
                       : op == REDUCE_MEAN ? "reduce_mean"
                       : op == REDUCE_MIN  ? "reduce_min"
                                           : "reduce_max";
    const int64_t outer = extent(x.shape, 0, axes.front());
    const int64_t inner = extent(x.shape, axes.back() + 1, x.rank());
    const Tensor flat = Build::reshaped(x, {outer, view.total, inner});
    const Tensor result =
        build.kernel(name, {flat}, x.type, {outer, 1, inner}, {{"axis", int64_t{1}}});
    return Build::reshaped(result, shape);
  }
  Tensor output = build.result({x}, x.type, shape, static_cast<double>(view.total));
  build.run(math_family(x.type), "reduce", {x}, output, {value(static_cast<int32_t>(op))}, view,
            static_cast<double>(view.total));
  return output;
}

Tensor matmul(Build& build, const Tensor& a, const Tensor& b, const std::optional<Tensor>& row,
              Activation::Kind activation) {
  if (a.shape.empty() || b.shape.empty()) {
    throw Error(Reason::shape_mismatch,
                text("a matrix product needs matrices or vectors, got shapes ", to_string(a.shape),
                     " and ", to_string(b.shape)));
  }
  if (a.type != b.type) {
    throw Error(Reason::dtype_mismatch,
                text("a matrix product of ", to_string(a.type), " and ", to_string(b.type)));
  }
  Shape left = a.shape;
  Shape right = b.shape;
  if (left.size() == 1) left.insert(left.begin(), 1);
  if (right.size() == 1) right.push_back(1);
  if (left.back() != right[right.size() - 2]) {
    throw Error(Reason::shape_mismatch,
                text("a matrix product of ", to_string(a.shape), " and ", to_string(b.shape)));
  }
  Shape batch =
      broadcast_shape({Shape(left.begin(), left.end() - 2), Shape(right.begin(), right.end() - 2)});
  const int64_t m = left[left.size() - 2];
  const int64_t n = right.back();
  Shape full = batch;
  full.insert(full.end(), {m, n});
  std::vector<Tensor> inputs{Build::reshaped(a, left), Build::reshaped(b, right)};
  if (row) inputs.push_back(*row);
  const Tensor product = build.kernel("matmul", inputs, a.type, full,
                                      {{"activation", std::string(to_string(activation))}});
  Shape shape = batch;
  if (a.shape.size() > 1) shape.push_back(m);
  if (b.shape.size() > 1) shape.push_back(n);
  return Build::reshaped(product, shape);
}

}  // namespace dala::model
