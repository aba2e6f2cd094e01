#include "model/build/movement.hpp"

#include <algorithm>
#include <utility>

#include "kernels/elementwise/broadcast.hpp"
#include "model/build/views.hpp"

namespace dala::model {
namespace {

constexpr int64_t kFewColumns = 4;

// The walk of a copy, whose dimensions may be in any order, with the longest dimension innermost
// along which the source or the destination is contiguous.
Walk along_longest(Walk walk) {
  long best = 0;
  for (long d = 1; d < walk.rank; ++d) {
    const bool dense = walk.strides[d] == 1 || walk.strides[3 * MODEL_RANK + d] == 1;
    if (dense && walk.dims[d] > walk.dims[best]) best = d;
  }
  std::swap(walk.dims[0], walk.dims[best]);
  for (int n = 0; n < 4; ++n) {
    std::swap(walk.strides[n * MODEL_RANK], walk.strides[n * MODEL_RANK + best]);
  }
  return walk;
}

}  // namespace

Family move_family(ElementType type) {
  return {Family::Kind::move, type, size_of(storage_of(type))};
}

Tensor transpose(Build& build, const Tensor& x, const std::vector<int64_t>& order) {
  Order axes;
  Order place(x.shape.size(), -1);  // the dimension of the result, for each of x
  for (int64_t axis : order) {
    axes.push_back(normal_axis(axis, x.rank()));
    place[static_cast<size_t>(axes.back())] = static_cast<int64_t>(axes.size()) - 1;
  }
  if (order.size() != x.shape.size() || std::find(place.begin(), place.end(), -1) != place.end()) {
    throw Error(Reason::shape_mismatch,
                text("the order ", to_string(order), " does not name each axis of ",
                     to_string(x.shape), " once"));
  }
  return x.known != nullptr ? moved(build, x, axes) : viewed(x, place);
}

Tensor moved(Build& build, const Tensor& x, const std::vector<int64_t>& order) {
  const Shape own = strides_of(x.shape);
  const Shape shape = permuted(x.shape, order);
  const Shape walked = permuted(own, order);
  const Walk walk = make_walk(shape, {{walked, 0}}, {strides_of(shape), 0});
  // If only dimensions of 1 change places, the elements keep their order.
  if (walk.rank == 1 && (walk.strides[0] == 1 || walk.count <= 1)) {
    return Build::reshaped(x, shape);
  }
  // On CPU devices, tiles do not pay off for a few columns.
  const bool few = walk.dims[0] <= kFewColumns && build.engine().planner().cpu_class();
  if (x.known == nullptr && x.count() >= kLargeTensor && !few) {
    std::vector<double> axes(order.begin(), order.end());
    return build.kernel("transpose", {x}, x.type, shape, {{"axes", axes}});
  }
  Tensor output = build.result({x}, x.type, shape);
  build.run(move_family(x.type), "move", {x}, output, {}, along_longest(walk));
  return output;
}

Tensor expand(Build& build, const Tensor& x, const Shape& shape) {
  if (x.count() == checked_type(storage_of(x.type), shape).count()) {
    return Build::reshaped(x, shape);
  }
  Tensor output = build.result({x}, x.type, shape);
  build.run(move_family(x.type), "move", {x}, output, {},
            make_walk(shape, {{broadcast_strides(x.shape, shape), 0}}, {strides_of(shape), 0}));
  return output;
}

Tensor slice(Build& build, const Tensor& x, const std::vector<int64_t>& starts,
             const std::vector<int64_t>& steps, const Shape& shape) {
  if (const auto order = order_of(x)) {
    return viewed(slice(build, x.view->source, permuted(starts, *order), permuted(steps, *order),
                        permuted(shape, *order)),
                  *order);
  }
  WalkOperand from{strides_of(x.shape), 0};
  bool whole = shape == x.shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    from.offset += starts[d] * from.strides[d];
    from.strides[d] *= steps[d];
    whole = whole && starts[d] == 0 && (steps[d] == 1 || shape[d] <= 1);
  }
  if (whole) return x;
  Tensor output = build.result({x}, x.type, shape);
  build.run(move_family(x.type), "move", {x}, output, {},
            make_walk(shape, {from}, {strides_of(shape), 0}));
  return output;
}

Tensor part(Build& build, const Tensor& x, int64_t axis, int64_t from, int64_t size) {
  if (axis < 0 || axis >= x.rank() || from < 0 || size < 0 || from > x.dim(axis) - size) {
    throw Error(Reason::shape_mismatch,
                text("a slice of ", size, " elements from ", from, " on along axis ", axis,
                     " is outside of shape ", to_string(x.shape)));
  }
  std::vector<int64_t> starts(x.shape.size(), 0);
  const std::vector<int64_t> steps(x.shape.size(), 1);
  Shape shape = x.shape;
  starts[static_cast<size_t>(axis)] = from;
  shape[static_cast<size_t>(axis)] = size;
  return slice(build, x, starts, steps, shape);
}

void place_into(Build& build, const Tensor& x, Tensor& to, const std::vector<int64_t>& at) {
  WalkOperand target{strides_of(to.shape), 0};
  for (size_t d = 0; d < at.size(); ++d) target.offset += at[d] * target.strides[d];
  build.run(move_family(x.type), "move", {x}, to, {},
            make_walk(x.shape, {{strides_of(x.shape), 0}}, target));
}

Tensor concat(Build& build, const std::vector<Tensor>& inputs, int64_t axis) {
  Shape shape = inputs[0].shape;
  const auto along = static_cast<size_t>(axis);
  for (size_t n = 1; n < inputs.size(); ++n) {
    Shape other = inputs[n].shape;
    if (other.size() != shape.size()) {
      throw Error(Reason::shape_mismatch,
                  text("cannot join ", to_string(inputs[0].shape), " and ", to_string(other)));
    }
    shape[along] += other[along];
    other[along] = shape[along];
    if (other != shape || inputs[n].type != inputs[0].type) {
      throw Error(Reason::shape_mismatch,
                  text("cannot join ", to_string(inputs[0].shape), " of ",
                       to_string(inputs[0].type), " and ", to_string(inputs[n].shape), " of ",
                       to_string(inputs[n].type), " along axis ", axis));
    }
  }
  if (inputs.size() == 1) return inputs[0];
  // The memory order of the largest part is kept, so that the fewest elements are copied.
  const auto largest =
      std::max_element(inputs.begin(), inputs.end(),
                       [](const Tensor& a, const Tensor& b) { return a.count() < b.count(); });
  if (const auto order = order_of(*largest)) {
    return viewed(concat(build, all_arranged(build, inputs, *order), place_in(*order, axis)),
                  *order);
  }
  Tensor output = build.result(inputs, inputs[0].type, shape);
  std::vector<int64_t> at(shape.size(), 0);
  for (const Tensor& input : inputs) {
    place_into(build, input, output, at);
    at[along] += input.shape[along];
  }
  return output;
}

Tensor gather(Build& build, const Tensor& x, int64_t axis, const Tensor& indices) {
  const auto order = order_of(x);
  if (order && indices.rank() == 1) {
    return viewed(gather(build, x.view->source, place_in(*order, axis), indices), *order);
  }
  AxisWalk walk{};
  walk.outer = extent(x.shape, 0, axis);
  walk.axis = x.dim(axis);
  walk.inner = extent(x.shape, axis + 1, x.rank());
  walk.picks = indices.count();
  walk.wide = storage_of(indices.type) == DType::s64 ? 1 : 0;
  Shape shape(x.shape.begin(), x.shape.begin() + axis);
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), x.shape.begin() + axis + 1, x.shape.end());
  Tensor output = build.result({x, indices}, x.type, shape);
  walk.count = output.count();
  build.run(move_family(x.type), "gather", {x, indices}, output, {}, walk);
  return output;
}

}  // namespace dala::model
