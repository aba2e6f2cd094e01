#include "model/import/common/tensorflow.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "model/graph/problem.hpp"

namespace dala::model::tensorflow {
namespace {

constexpr int64_t kLast = INT64_MAX;  // a slice bound after every element
constexpr size_t kMaxAxes = 32;

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

// The columns of {before, after} for each axis, as vectors.
std::pair<TensorId, TensorId> columns_of(GraphBuilder& builder, TensorId id,
                                         const std::string& what, size_t count) {
  const HostTensorPtr known = builder.known(id);
  if (known == nullptr) {
    const TensorId wide = builder.cast(id, ElementType::i64);
    const auto column = [&](int64_t index) {
      return builder.add(
          "Gather",
          {wide, builder.constant(scalar_of(ElementType::i64, static_cast<double>(index)))},
          {{"axis", attr::integer(1)}});
    };
    return {column(0), column(1)};
  }
  const std::vector<int64_t> values = known->integers();
  if (values.size() != 2 * count) {
    reject(text(what, " has ", values.size(), " values, expected ", 2 * count, " for ", count,
                " axes"));
  }
  std::vector<int64_t> before;
  std::vector<int64_t> after;
  for (size_t i = 0; i < count; ++i) {
    before.push_back(values[2 * i]);
    after.push_back(values[2 * i + 1]);
    if (before[i] < 0 || after[i] < 0) reject(text(what, " is negative"));
  }
  return {builder.integers(before), builder.integers(after)};
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
  std::vector<int64_t> values;
  bool known = true;
  for (TensorId each : parts) {
    const HostTensorPtr part = known ? builder.known(each) : nullptr;
    known = part != nullptr;
    if (!known) break;
    const std::vector<int64_t> numbers = part->integers();
    values.insert(values.end(), numbers.begin(), numbers.end());
  }
  if (known) return builder.integers(values);
  return builder.add("Concat", std::move(parts), {{"axis", attr::integer(0)}});
}

std::vector<int64_t> block_of(GraphBuilder& builder, TensorId block) {
  std::vector<int64_t> sizes = builder.known_integers(block, "a block");
  bool fits = !sizes.empty() && sizes.size() <= kMaxAxes;
  for (int64_t size : sizes) fits = fits && size >= 1 && size <= (1 << 20);
  if (!fits) {
    reject(text("the block shape is ", to_string(sizes), ", expected 1 to ", kMaxAxes,
                " sizes from 1 to ", 1 << 20));
  }
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
  const auto [before, after] = columns_of(builder, pads, "a padding", count);
  const TensorId none = builder.integers({0});
  const TensorId padded = builder.add("Pad", {x, joined(builder, {none, before, none, after}),
                                              kNone, builder.integers(counted(count + 1))});

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
  const auto [before, after] = columns_of(builder, crops, "a crop", count);

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

  TensorId ends = builder.add("Sub", {dimension(builder, laid, 1, count + 1), after});
  if (const HostTensorPtr known = builder.known(after)) {
    std::vector<int64_t> values = known->integers();
    for (int64_t& each : values) each = each == 0 ? kLast : -each;
    ends = builder.integers(values);
  }
  std::vector<int64_t> axes = counted(count + 1);
  axes.erase(axes.begin());
  return builder.add("Slice", {laid, before, ends, builder.integers(axes)});
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
