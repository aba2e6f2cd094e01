#include "model/tensorflow.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "runtime/error.hpp"

namespace dala::model::tensorflow {
namespace {

constexpr int64_t kFirst = INT64_MIN;  // a slice bound before every element
constexpr int64_t kLast = INT64_MAX;   // a slice bound after every element
constexpr size_t kMaxAxes = 32;

[[noreturn]] void unsupported(const std::string& what) {
  throw Error(Reason::unsupported_op, what);
}

[[noreturn]] void reject(const std::string& problem) {
  throw Error(Reason::invalid_model, problem);
}

std::vector<int64_t> counted(size_t count) {
  std::vector<int64_t> values(count);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

// Converts to a 1-D i64 tensor, which ONNX expects for axes and shapes. A scalar gets one element.
TensorId as_vector(GraphBuilder& builder, TensorId x) {
  if (const HostTensorPtr values = builder.known(x)) return builder.integers(values->integers());
  return builder.reshape(builder.cast(x, ElementType::i64), {-1});
}

// {before, after} for each axis.
std::vector<std::array<int64_t, 2>> pairs_of(GraphBuilder& builder, TensorId id,
                                             const std::string& what, size_t count) {
  const std::vector<int64_t> values = builder.known_integers(id, what);
  if (values.size() != 2 * count) {
    reject(text(what, " has ", values.size(), " values, expected ", 2 * count, " for ", count,
                " axes"));
  }
  std::vector<std::array<int64_t, 2>> pairs;
  for (size_t i = 0; i < count; ++i) pairs.push_back({values[2 * i], values[2 * i + 1]});
  return pairs;
}

// The dimensions [from, to) of the shape of x.
TensorId dimension(GraphBuilder& builder, TensorId x, size_t from, size_t to) {
  return builder.add("Shape", {x},
                     {{"start", attr::integer(static_cast<int64_t>(from))},
                      {"end", attr::integer(static_cast<int64_t>(to))}});
}

TensorId other_dimensions(GraphBuilder& builder, TensorId x, size_t from) {
  return builder.add("Shape", {x}, {{"start", attr::integer(static_cast<int64_t>(from))}});
}

TensorId joined(GraphBuilder& builder, std::vector<TensorId> parts) {
  return builder.add("Concat", std::move(parts), {{"axis", attr::integer(0)}});
}

std::vector<int64_t> block_of(GraphBuilder& builder, TensorId block) {
  std::vector<int64_t> sizes = builder.known_integers(block, "a block");
  bool fits = !sizes.empty() && sizes.size() <= kMaxAxes;
  for (int64_t size : sizes) fits = fits && size >= 1 && size <= (1 << 20);
  if (!fits) reject(text("block shape ", to_string(sizes), " is out of range"));
  return sizes;
}

int64_t product_of(const std::vector<int64_t>& values) {
  int64_t product = 1;
  for (int64_t value : values) {
    product *= value;
    if (product > (int64_t{1} << 31)) {
      reject(text("block shape ", to_string(values), " is too large"));
    }
  }
  return product;
}

}  // namespace

TensorId reshape(GraphBuilder& builder, TensorId x, TensorId shape) {
  Attributes attributes;
  if (const HostTensorPtr values = builder.known(shape)) {
    const std::vector<int64_t> dims = values->integers();
    if (std::find(dims.begin(), dims.end(), 0) != dims.end()) {
      attributes["allowzero"] = attr::integer(1);
    }
  }
  return builder.add("Reshape", {x, as_vector(builder, shape)}, std::move(attributes));
}

TensorId pad(GraphBuilder& builder, TensorId x, TensorId paddings, TensorId value) {
  const TensorId columns = builder.transpose(builder.cast(paddings, ElementType::i64), {1, 0});
  std::vector<TensorId> inputs{x, as_vector(builder, columns)};
  if (value != kNone) inputs.push_back(builder.reshape(value, {}));
  return builder.add("Pad", std::move(inputs));
}

TensorId mirror_pad(GraphBuilder& builder, TensorId x, TensorId paddings, bool symmetric) {
  if (symmetric) {
    // For a padding of one element this equals ONNX's edge mode.
    for (int64_t size : builder.known_integers(paddings, "a padding")) {
      if (size > 1) unsupported("symmetric padding of more than one element");
    }
  }
  const TensorId columns = builder.transpose(builder.cast(paddings, ElementType::i64), {1, 0});
  return builder.add("Pad", {x, as_vector(builder, columns)},
                     {{"mode", attr::text(symmetric ? "edge" : "reflect")}});
}

TensorId space_to_batch(GraphBuilder& builder, TensorId x, TensorId block, TensorId pads) {
  const std::vector<int64_t> sizes = block_of(builder, block);
  const size_t count = sizes.size();
  const auto pairs = pairs_of(builder, pads, "a padding", count);
  std::vector<int64_t> before{0};
  std::vector<int64_t> after{0};
  for (const auto& pair : pairs) {
    before.push_back(pair[0]);
    after.push_back(pair[1]);
  }
  before.insert(before.end(), after.begin(), after.end());
  const TensorId padded = builder.add(
      "Pad", {x, builder.integers(before), kNone, builder.integers(counted(count + 1))});

  // Reshapes to {n, y / b, b, x / b, b, rest} and transposes to {b, b, n, y / b, x / b, rest}.
  const TensorId batch = dimension(builder, padded, 0, 1);
  std::vector<TensorId> apart{batch};
  std::vector<TensorId> whole{builder.add("Mul", {batch, builder.integers({product_of(sizes)})})};
  std::vector<int64_t> perm;
  for (size_t i = 0; i < count; ++i) {
    const TensorId size = builder.integers({sizes[i]});
    const TensorId blocks = builder.add("Div", {dimension(builder, padded, i + 1, i + 2), size});
    apart.push_back(blocks);
    apart.push_back(size);
    whole.push_back(blocks);
    perm.push_back(static_cast<int64_t>(2 * i + 2));
  }
  apart.push_back(builder.integers({-1}));
  whole.push_back(other_dimensions(builder, padded, count + 1));
  perm.push_back(0);
  for (size_t i = 0; i < count; ++i) perm.push_back(static_cast<int64_t>(2 * i + 1));
  perm.push_back(static_cast<int64_t>(2 * count + 1));
  const TensorId cut = builder.add("Reshape", {padded, joined(builder, std::move(apart))});
  return builder.add("Reshape", {builder.transpose(cut, perm), joined(builder, std::move(whole))});
}

TensorId batch_to_space(GraphBuilder& builder, TensorId x, TensorId block, TensorId crops) {
  const std::vector<int64_t> sizes = block_of(builder, block);
  const size_t count = sizes.size();
  const auto pairs = pairs_of(builder, crops, "a crop", count);

  // Reshapes to {b, b, n, y, x, rest} and transposes to {n, y, b, x, b, rest}.
  const TensorId batch =
      builder.add("Div", {dimension(builder, x, 0, 1), builder.integers({product_of(sizes)})});
  std::vector<TensorId> apart{builder.integers(sizes), batch};
  std::vector<TensorId> whole{batch};
  std::vector<int64_t> perm{static_cast<int64_t>(count)};
  for (size_t i = 0; i < count; ++i) {
    const TensorId blocks = dimension(builder, x, i + 1, i + 2);
    apart.push_back(blocks);
    whole.push_back(builder.add("Mul", {blocks, builder.integers({sizes[i]})}));
    perm.push_back(static_cast<int64_t>(count + 1 + i));
    perm.push_back(static_cast<int64_t>(i));
  }
  apart.push_back(builder.integers({-1}));
  whole.push_back(other_dimensions(builder, x, count + 1));
  perm.push_back(static_cast<int64_t>(2 * count + 1));
  const TensorId cut = builder.add("Reshape", {x, joined(builder, std::move(apart))});
  const TensorId laid =
      builder.add("Reshape", {builder.transpose(cut, perm), joined(builder, std::move(whole))});

  std::vector<int64_t> starts;
  std::vector<int64_t> ends;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < count; ++i) {
    if (pairs[i][0] < 0 || pairs[i][1] < 0) reject("a crop is negative");
    starts.push_back(pairs[i][0]);
    ends.push_back(pairs[i][1] == 0 ? kLast : -pairs[i][1]);
    axes.push_back(static_cast<int64_t>(i + 1));
  }
  return builder.add(
      "Slice", {laid, builder.integers(starts), builder.integers(ends), builder.integers(axes)});
}

TensorId strided_slice(GraphBuilder& builder, TensorId x, TensorId begin, TensorId end,
                       TensorId strides, const SliceMasks& masks) {
  const std::vector<int64_t> steps = builder.known_integers(strides, "a stride");
  const size_t count = steps.size();
  if (count > kMaxAxes)
    reject(text("a slice of ", count, " axes, at most ", kMaxAxes, " expected"));
  const bool plain =
      (masks.begin | masks.end | masks.ellipsis | masks.new_axis | masks.shrink_axis) == 0;
  if (plain && (builder.known(begin) == nullptr || builder.known(end) == nullptr)) {
    return builder.add("Slice", {x, as_vector(builder, begin), as_vector(builder, end),
                                 builder.integers(counted(count)), builder.integers(steps)});
  }
  const std::vector<int64_t> from = builder.known_integers(begin, "a begin");
  const std::vector<int64_t> to = builder.known_integers(end, "an end");
  if (from.size() != count || to.size() != count) {
    reject(
        text("a slice has ", from.size(), " begins, ", to.size(), " ends and ", count, " strides"));
  }

  const auto in = [](int64_t mask, size_t bit) { return (mask >> bit & 1) != 0; };
  // After the ellipsis, axes of the input and of the result are counted from the end.
  int64_t axes_after = 0;
  int64_t results_after = 0;
  bool ellipsis = false;
  for (size_t i = 0; i < count; ++i) {
    if (in(masks.ellipsis, i)) {
      if (ellipsis) reject("a slice with two ellipses");
      ellipsis = true;
    } else if (ellipsis) {
      const bool added = in(masks.new_axis, i);
      axes_after += added ? 0 : 1;
      results_after += added || !in(masks.shrink_axis, i) ? 1 : 0;
    }
  }
  std::vector<int64_t> starts;
  std::vector<int64_t> ends;
  std::vector<int64_t> axes;
  std::vector<int64_t> kept_steps;
  std::vector<int64_t> shrunk;
  std::vector<int64_t> added;
  int64_t axis = 0;
  int64_t result = 0;
  for (size_t i = 0; i < count; ++i) {
    if (in(masks.ellipsis, i)) {
      axis = -axes_after;
      result = -results_after;
      continue;
    }
    if (in(masks.new_axis, i)) {
      added.push_back(result++);
      continue;
    }
    if (steps[i] == 0) reject("a slice with a stride of 0");
    const bool forward = steps[i] > 0;
    int64_t start = in(masks.begin, i) ? (forward ? 0 : kLast) : from[i];
    int64_t stop = in(masks.end, i) ? (forward ? kLast : kFirst) : to[i];
    if (in(masks.shrink_axis, i)) {
      if (!forward) reject("a slice with a shrunk axis has a negative stride");
      stop = start == -1 || start == kLast ? kLast : start + 1;
      shrunk.push_back(axis);
    } else {
      ++result;
    }
    starts.push_back(start);
    ends.push_back(stop);
    axes.push_back(axis++);
    kept_steps.push_back(in(masks.shrink_axis, i) ? 1 : steps[i]);
  }
  TensorId y = x;
  if (!axes.empty()) {
    y = builder.add("Slice", {y, builder.integers(starts), builder.integers(ends),
                              builder.integers(axes), builder.integers(kept_steps)});
  }
  if (!shrunk.empty()) y = builder.add("Squeeze", {y, builder.integers(shrunk)});
  if (!added.empty()) y = builder.add("Unsqueeze", {y, builder.integers(added)});
  return y == x ? builder.add("Identity", {x}) : y;
}

TensorId slice(GraphBuilder& builder, TensorId x, TensorId begin, TensorId size) {
  const HostTensorPtr from = builder.known(begin);
  const HostTensorPtr sizes = builder.known(size);
  if (from == nullptr || sizes == nullptr) {
    const TensorId start = as_vector(builder, begin);
    const TensorId length = as_vector(builder, size);
    if (sizes != nullptr) {
      for (int64_t each : sizes->integers()) {
        if (each < 0) unsupported("a slice to the end whose begin is not a constant");
      }
    }
    return builder.add("Slice", {x, start, builder.add("Add", {start, length})});
  }
  const std::vector<int64_t> starts = from->integers();
  std::vector<int64_t> ends = sizes->integers();
  if (starts.size() != ends.size() || starts.size() > kMaxAxes) {
    reject(text("a slice has ", starts.size(), " begins and ", ends.size(), " sizes"));
  }
  for (size_t i = 0; i < ends.size(); ++i) {
    if (starts[i] < 0 || starts[i] > (int64_t{1} << 40) || ends[i] > (int64_t{1} << 40)) {
      reject(text("a slice with begin ", starts[i], " and size ", ends[i], " is out of range"));
    }
    ends[i] = ends[i] < 0 ? kLast : starts[i] + ends[i];
  }
  return builder.add("Slice", {x, builder.integers(starts), builder.integers(ends)});
}

TensorId reduce(GraphBuilder& builder, const std::string& op, TensorId x, TensorId axes,
                bool keep_dims) {
  return builder.add(
      op, {x, as_vector(builder, axes)},
      {{"keepdims", attr::integer(keep_dims ? 1 : 0)}, {"noop_with_empty_axes", attr::integer(1)}});
}

TensorId arg(GraphBuilder& builder, const std::string& op, TensorId x, TensorId axis,
             ElementType type) {
  const std::vector<int64_t> axes = builder.known_integers(axis, "an axis");
  if (axes.size() != 1) reject(text(op, " has ", axes.size(), " axes, expected 1"));
  const TensorId places =
      builder.add(op, {x}, {{"axis", attr::integer(axes[0])}, {"keepdims", attr::integer(0)}});
  return type == ElementType::i64 ? places : builder.cast(places, type);
}

TensorId fully_connected(GraphBuilder& builder, TensorId x, TensorId weights, TensorId bias,
                         bool keep_dims, const channels_last::Epilogue& epilogue) {
  const HostTensorPtr values = builder.known(weights);
  TensorId y = kNone;
  if (!keep_dims && values != nullptr && values->shape.size() == 2) {
    const TensorId rows = builder.reshape(x, {-1, values->shape[1]});
    std::vector<TensorId> inputs{rows, weights};
    if (bias != kNone) inputs.push_back(bias);
    y = builder.add("Gemm", std::move(inputs), {{"transB", attr::integer(1)}});
  } else {
    y = builder.add("MatMul", {x, builder.transpose(weights, {1, 0})});
    if (bias != kNone) y = builder.add("Add", {y, bias});
  }
  return channels_last::with_epilogue(builder, y, epilogue);
}

TensorId stack(GraphBuilder& builder, const std::vector<TensorId>& parts, int64_t axis) {
  std::vector<TensorId> wider;
  for (TensorId part : parts) {
    wider.push_back(builder.add("Unsqueeze", {part, builder.integers({axis})}));
  }
  return builder.add("Concat", std::move(wider), {{"axis", attr::integer(axis)}});
}

std::vector<TensorId> unstack(GraphBuilder& builder, TensorId x, int64_t axis, size_t parts) {
  const TensorId ones = builder.integers(std::vector<int64_t>(parts, 1));
  std::vector<TensorId> results =
      builder.add_many("Split", {x, ones}, parts, {{"axis", attr::integer(axis)}});
  for (TensorId& each : results) {
    each = builder.add("Squeeze", {each, builder.integers({axis})});
  }
  return results;
}

}  // namespace dala::model::tensorflow
