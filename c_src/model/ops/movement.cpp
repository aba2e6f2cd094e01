// Operators that only move elements: reshaping, transposing, slicing, padding, repeating.
#include <algorithm>
#include <numeric>

#include "model/build/views.hpp"
#include "model/ops/families.hpp"

namespace dala::model {
namespace {

void reshape(OpCall& call) {
  const Tensor& x = call.in(0);
  Shape shape = call.integers_or_input("shape", 1).value_or(Shape());
  const bool keep_zero = call.integer("allowzero", 0) != 0;
  std::optional<size_t> free_one;
  int64_t known = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0 && !keep_zero) {
      if (d >= x.shape.size()) {
        throw Error(Reason::shape_mismatch,
                    text("shape ", to_string(shape), " copies dimension ", d,
                         ", which an input of shape ", to_string(x.shape), " does not have"));
      }
      shape[d] = x.shape[d];
    }
    if (shape[d] == -1 && !free_one) {
      free_one = d;
    } else {
      known = checked_type(DType::u8, {known, shape[d]}).count();
    }
  }
  if (free_one) shape[*free_one] = known == 0 ? 0 : x.count() / known;
  if (checked_type(DType::u8, shape).count() != x.count()) {
    throw Error(Reason::shape_mismatch,
                text("cannot reshape ", to_string(x.shape), " to ", to_string(shape)));
  }
  call.set(0, Build::reshaped(x, shape));
}

void flatten(OpCall& call) {
  const Tensor& x = call.in(0);
  int64_t axis = call.integer("axis", 1);
  if (axis < 0) axis += x.rank();
  if (axis < 0 || axis > x.rank()) {
    throw Error(Reason::shape_mismatch,
                text("axis ", axis, " is out of range for shape ", to_string(x.shape)));
  }
  call.set(0, Build::reshaped(x, {extent(x.shape, 0, axis), extent(x.shape, axis, x.rank())}));
}

void squeeze(OpCall& call) {
  const Tensor& x = call.in(0);
  const auto given = call.integers_or_input("axes", 1);
  const std::vector<int64_t> axes =
      given && !given->empty() ? normal_axes(*given, x.rank()) : std::vector<int64_t>();
  Shape shape;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const bool named = std::find(axes.begin(), axes.end(), d) != axes.end();
    if (named && x.dim(d) != 1) {
      throw Error(Reason::shape_mismatch,
                  text("axis ", d, " of ", to_string(x.shape), " has a size other than 1"));
    }
    if (!named && (given || x.dim(d) != 1)) shape.push_back(x.dim(d));
  }
  call.set(0, Build::reshaped(x, shape));
}

void unsqueeze(OpCall& call) {
  const Tensor& x = call.in(0);
  const auto given = call.integers_or_input("axes", 1).value_or(std::vector<int64_t>());
  if (given.empty()) {
    call.set(0, x);
    return;
  }
  const auto axes = normal_axes(given, x.rank() + static_cast<int64_t>(given.size()));
  Shape shape = x.shape;
  for (int64_t axis : axes) shape.insert(shape.begin() + axis, 1);
  call.set(0, Build::reshaped(x, shape));
}

void transpose_op(OpCall& call) {
  const Tensor& x = call.in(0);
  std::vector<int64_t> order = call.integers("perm");
  if (!call.has_attribute("perm")) {
    order.resize(x.shape.size());
    std::iota(order.rbegin(), order.rend(), int64_t{0});
  }
  call.set(0, transpose(call.build, x, order));
}

void expand_op(OpCall& call) {
  const Tensor& x = call.in(0);
  const Shape wanted = call.build.integers(call.in(1));
  call.set(0, expand(call.build, x, broadcast_shape({x.shape, wanted})));
}

void tile(OpCall& call) {
  const Tensor& x = call.in(0);
  std::vector<int64_t> repeats = call.build.integers(call.in(1));
  if (repeats.size() != x.shape.size()) {
    throw Error(Reason::shape_mismatch,
                text(repeats.size(), " repeats do not fit shape ", to_string(x.shape)));
  }
  // {2, 3} repeated {4, 5} times is {1, 2, 1, 3} expanded to {4, 2, 5, 3}.
  Shape apart;
  Shape repeated;
  Shape shape;
  for (size_t d = 0; d < repeats.size(); ++d) {
    checked_type(DType::u8, {repeats[d], x.shape[d]});
    apart.insert(apart.end(), {1, x.shape[d]});
    repeated.insert(repeated.end(), {repeats[d], x.shape[d]});
    shape.push_back(repeats[d] * x.shape[d]);
  }
  const Tensor copies = expand(call.build, Build::reshaped(x, apart), repeated);
  call.set(0, Build::reshaped(copies, shape));
}

void concat_op(OpCall& call) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < call.size(); ++i) inputs.push_back(call.in(i));
  call.set(0, concat(call.build, inputs, call.axis(1, call.in(0).rank())));
}

// The start, step and size of a slice along one axis.
struct Cut {
  int64_t start = 0;
  int64_t step = 1;
  int64_t size = 0;
};

Cut cut_of(int64_t start, int64_t end, int64_t step, int64_t size) {
  if (step == 0) throw Error(Reason::shape_mismatch, "a slice has a step of 0");
  const auto clamped = [size](int64_t at, int64_t low, int64_t high) {
    if (at < 0) at += size;
    return std::clamp(at, low, high);
  };
  // INT64_MIN and INT64_MAX mean up to the end of the axis; clamping handles them.
  if (step > 0) {
    start = clamped(start, 0, size);
    end = clamped(end, 0, size);
    const int64_t length = end > start ? (end - start - 1) / step + 1 : 0;
    return {start, step, length};
  }
  start = clamped(start, -1, size - 1);
  end = end < -size ? -1 : clamped(end, -1, size - 1);
  const int64_t down = step < -size ? size + 1 : -step;
  return {start, -down, start > end ? (start - end - 1) / down + 1 : 0};
}

void slice_op(OpCall& call) {
  const Tensor& x = call.in(0);
  const auto starts = call.integers_or_input("starts", 1).value_or(std::vector<int64_t>());
  const auto ends = call.integers_or_input("ends", 2).value_or(std::vector<int64_t>());
  std::vector<int64_t> axes(starts.size());
  std::iota(axes.begin(), axes.end(), int64_t{0});
  axes = call.integers_or_input("axes", 3).value_or(axes);
  const auto steps =
      call.has(4) ? call.build.integers(call.in(4)) : std::vector<int64_t>(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    throw Error(Reason::shape_mismatch,
                text(starts.size(), " starts, ", ends.size(), " ends, ", axes.size(), " axes and ",
                     steps.size(), " steps differ in number"));
  }
  std::vector<int64_t> from(x.shape.size(), 0);
  std::vector<int64_t> by(x.shape.size(), 1);
  Shape shape = x.shape;
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto axis = static_cast<size_t>(normal_axis(axes[i], x.rank()));
    const Cut cut = cut_of(starts[i], ends[i], steps[i], x.shape[axis]);
    from[axis] = cut.size == 0 ? 0 : cut.start;
    by[axis] = cut.size <= 1 ? 1 : cut.step;
    shape[axis] = cut.size;
  }
  call.set(0, slice(call.build, x, from, by, shape));
}

void split(OpCall& call) {
  const Tensor& x = call.in(0);
  const int64_t axis = call.axis(0, x.rank());
  const int64_t size = x.dim(axis);
  std::vector<int64_t> sizes;
  if (const auto given = call.integers_or_input("split", 1)) {
    sizes = *given;
  } else {
    const auto count = static_cast<int64_t>(call.node.outputs.size());
    const int64_t each = (size + count - 1) / std::max<int64_t>(count, 1);
    for (int64_t i = 0; i < count; ++i) {
      sizes.push_back(std::clamp<int64_t>(size - i * each, 0, each));
    }
  }
  int64_t at = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || sizes[i] > size - at) {
      throw Error(Reason::shape_mismatch, text("parts of ", to_string(sizes), " do not fit into ",
                                               to_string(x.shape), " along axis ", axis));
    }
    if (call.wants(i)) call.set(i, part(call.build, x, axis, at, sizes[i]));
    at += sizes[i];
  }
}

constexpr int64_t kMaxIndices = 1 << 22;  // of an index list that is built while planning

// The modes edge, wrap and reflect repeat elements of the input: a gather along each axis.
Tensor padded_by_places(OpCall& call, Tensor x, const std::vector<int64_t>& pads,
                        const std::string& mode) {
  const int64_t rank = x.rank();
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t before = pads[static_cast<size_t>(d)];
    const int64_t after = pads[static_cast<size_t>(d + rank)];
    if (before == 0 && after == 0) continue;
    const int64_t size = x.dim(d);
    if (size == 0) {
      throw Error(Reason::shape_mismatch, text("an empty axis cannot be padded with mode ", mode));
    }
    if (before > kMaxIndices || after > kMaxIndices || size > kMaxIndices) {
      throw Error(Reason::shape_mismatch, text("pads of ", before, " and ", after,
                                               " around an axis of ", size, " are too large"));
    }
    std::vector<int64_t> places;
    for (int64_t at = -before; at < size + after; ++at) {
      int64_t place = at;
      if (mode == "edge") {
        place = std::clamp<int64_t>(at, 0, size - 1);
      } else if (mode == "wrap") {
        place = (at % size + size) % size;
      } else {
        const int64_t period = std::max<int64_t>(1, 2 * (size - 1));
        place = (at % period + period) % period;
        if (place >= size) place = period - place;
      }
      places.push_back(place);
    }
    x = gather(call.build, x, d, call.build.constant(vector_of(places)));
  }
  return x;
}

// Pads with a constant value, in memory order.
Tensor padded_by_value(Build& build, const Tensor& x, const std::vector<int64_t>& before,
                       const Shape& shape, const HostTensorPtr& value) {
  if (const auto order = order_of(x)) {
    return viewed(padded_by_value(build, x.view->source, permuted(before, *order),
                                  permuted(shape, *order), value),
                  *order);
  }
  Tensor output = build.result({x}, x.type, shape);
  build.fill(output, dala::Value{value->bytes});
  place_into(build, x, output, before);
  return output;
}

// The pads before and after every axis, from an attribute or an input.
std::vector<int64_t> pads_of(OpCall& call) {
  const Tensor& x = call.in(0);
  const auto rank = static_cast<size_t>(x.rank());
  std::vector<int64_t> pads =
      call.integers_or_input(call.has_attribute("paddings") ? "paddings" : "pads", 1)
          .value_or(std::vector<int64_t>());
  if (call.has(3)) {
    // Only the axes in input 3 are padded.
    const std::vector<int64_t> axes = call.build.integers(call.in(3));
    std::vector<int64_t> full(2 * rank, 0);
    if (pads.size() != 2 * axes.size()) {
      throw Error(Reason::shape_mismatch,
                  text(pads.size(), " pads, expected 2 for each of ", axes.size(), " axes"));
    }
    for (size_t i = 0; i < axes.size(); ++i) {
      const auto axis = static_cast<size_t>(normal_axis(axes[i], x.rank()));
      full[axis] = pads[i];
      full[axis + rank] = pads[i + axes.size()];
    }
    pads = full;
  }
  if (pads.size() != 2 * rank) {
    throw Error(Reason::shape_mismatch, text(pads.size(), " pads for an input of shape ",
                                             to_string(x.shape), ", expected ", 2 * rank));
  }
  for (int64_t each : pads) {
    // Within these bounds, sums of pads and sizes cannot overflow.
    constexpr int64_t kMaxPad = int64_t{1} << 60;
    if (each > kMaxPad || each < -kMaxPad) {
      throw Error(Reason::shape_mismatch,
                  text("a pad is ", each, ", expected ", -kMaxPad, " to ", kMaxPad));
    }
  }
  return pads;
}

void pad(OpCall& call) {
  const Tensor& x = call.in(0);
  Build& build = call.build;
  const auto rank = static_cast<size_t>(x.rank());
  std::vector<int64_t> pads = pads_of(call);
  // Negative pads crop.
  std::vector<int64_t> starts(rank, 0);
  const std::vector<int64_t> steps(rank, 1);
  Shape inside = x.shape;
  Shape shape = x.shape;
  for (size_t d = 0; d < rank; ++d) {
    starts[d] = std::max<int64_t>(0, -pads[d]);
    inside[d] -= starts[d] + std::max<int64_t>(0, -pads[d + rank]);
    if (inside[d] < 0) {
      throw Error(Reason::shape_mismatch,
                  text("negative pads crop more than dimension ", d, " of ", to_string(x.shape)));
    }
    pads[d] = std::max<int64_t>(0, pads[d]);
    pads[d + rank] = std::max<int64_t>(0, pads[d + rank]);
    shape[d] = inside[d] + pads[d] + pads[d + rank];
  }
  const Tensor kept = slice(build, x, starts, steps, inside);
  const std::string mode = call.text("mode", "constant");
  if (mode != "constant") {
    call.set(0, padded_by_places(call, kept, pads, mode));
    return;
  }
  double value = call.real("value", 0);
  if (call.has(2) && call.in(2).count() > 0) value = build.values(call.in(2)).number(0);
  if (shape == kept.shape) {
    call.set(0, kept);
    return;
  }
  pads.resize(rank);
  call.set(0, padded_by_value(build, kept, pads, shape, scalar_of(x.type, value)));
}

void depth_to_space(OpCall& call) {
  const Tensor& x = call.in(0);
  const int64_t block = call.integer("blocksize", 1);
  if (x.rank() != 4 || block < 1 || block > 65536 || x.dim(1) % (block * block) != 0) {
    throw Error(Reason::shape_mismatch, text("shape ", to_string(x.shape),
                                             " does not fit DepthToSpace with block size ", block));
  }
  const int64_t depth = x.dim(1) / (block * block);
  const bool columns_first = call.text("mode", "DCR") == "CRD";
  const Tensor apart =
      Build::reshaped(x, columns_first ? Shape{x.dim(0), depth, block, block, x.dim(2), x.dim(3)}
                                       : Shape{x.dim(0), block, block, depth, x.dim(2), x.dim(3)});
  const Tensor moved = columns_first ? transpose(call.build, apart, {0, 1, 4, 2, 5, 3})
                                     : transpose(call.build, apart, {0, 3, 4, 1, 5, 2});
  call.set(0, Build::reshaped(moved, {x.dim(0), depth, x.dim(2) * block, x.dim(3) * block}));
}

void space_to_depth(OpCall& call) {
  const Tensor& x = call.in(0);
  const int64_t block = call.integer("blocksize", 1);
  if (x.rank() != 4 || block < 1 || x.dim(2) % block != 0 || x.dim(3) % block != 0) {
    throw Error(Reason::shape_mismatch, text("shape ", to_string(x.shape),
                                             " does not fit SpaceToDepth with block size ", block));
  }
  const int64_t height = x.dim(2) / block;
  const int64_t width = x.dim(3) / block;
  const Tensor apart = Build::reshaped(x, {x.dim(0), x.dim(1), height, block, width, block});
  const Tensor moved = transpose(call.build, apart, {0, 3, 5, 1, 2, 4});
  call.set(0, Build::reshaped(moved, {x.dim(0), x.dim(1) * block * block, height, width}));
}

}  // namespace

Operators movement_operators() {
  return {
      {"Concat", concat_op},
      {"DepthToSpace", depth_to_space},
      {"Expand", expand_op},
      {"Flatten", flatten},
      {"Pad", pad},
      {"Reshape", reshape},
      {"Slice", slice_op},
      {"SpaceToDepth", space_to_depth},
      {"Split", split},
      {"Squeeze", squeeze},
      {"Tile", tile},
      {"Transpose", transpose_op},
      {"Unsqueeze", unsqueeze},
  };
}

}  // namespace dala::model
