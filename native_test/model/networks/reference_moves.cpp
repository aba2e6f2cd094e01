// Operators on shapes, and operators that move elements.
#include <algorithm>

#include "model/networks/reference.hpp"

namespace dala::test {
namespace {

size_t axis_of(const NetNode& node, const Array& x, int64_t otherwise) {
  const int64_t axis = attribute_or<int64_t>(node, "axis", otherwise);
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.shape.size()) : axis);
}

// Iterates over all indices of a shape in order.
template <typename Visit>
void each_place(const Ints& shape, const Visit& visit) {
  Ints place(shape.size(), 0);
  const int64_t all = extent(shape, 0, shape.size());
  for (int64_t i = 0; i < all; ++i) {
    visit(place);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++place[axis] < shape[axis]) break;
      place[axis] = 0;
    }
  }
}

size_t offset_of(const Ints& shape, const Ints& place) {
  int64_t offset = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) offset = offset * shape[axis] + place[axis];
  return static_cast<size_t>(offset);
}

std::vector<Array> shape(const NetNode&, const ReferenceInputs& inputs) {
  Array y({static_cast<int64_t>(inputs[0]->shape.size())});
  y.data.assign(inputs[0]->shape.begin(), inputs[0]->shape.end());
  return {y};
}

std::vector<Array> reshape(const NetNode&, const ReferenceInputs& inputs) {
  const Array& x = *inputs[0];
  Ints target = integers(*inputs[1]);
  int64_t known = 1;
  for (size_t axis = 0; axis < target.size(); ++axis) {
    if (target[axis] == 0) target[axis] = x.shape[axis];
    if (target[axis] > 0) known *= target[axis];
  }
  for (int64_t& dim : target) {
    if (dim == -1) dim = static_cast<int64_t>(x.data.size()) / known;
  }
  Array y = x;
  y.shape = target;
  return {y};
}

std::vector<Array> flatten(const NetNode& node, const ReferenceInputs& inputs) {
  Array y = *inputs[0];
  const size_t axis = axis_of(node, y, 1);
  y.shape = {extent(y.shape, 0, axis), extent(y.shape, axis, y.shape.size())};
  return {y};
}

std::vector<Array> transpose(const NetNode& node, const ReferenceInputs& inputs) {
  const Array& x = *inputs[0];
  const Ints order = attribute_or<Ints>(node, "perm", {});
  Ints dims;
  for (int64_t axis : order) dims.push_back(x.shape[static_cast<size_t>(axis)]);
  Array y(dims);
  auto result = y.data.begin();
  each_place(dims, [&](const Ints& place) {
    Ints from(place.size());
    for (size_t axis = 0; axis < order.size(); ++axis) {
      from[static_cast<size_t>(order[axis])] = place[axis];
    }
    *result++ = x.data[offset_of(x.shape, from)];
  });
  return {y};
}

std::vector<Array> concat(const NetNode& node, const ReferenceInputs& inputs) {
  const size_t axis = axis_of(node, *inputs[0], 0);
  Ints dims = inputs[0]->shape;
  dims[axis] = 0;
  for (const Array* input : inputs) dims[axis] += input->shape[axis];
  Array y(dims);
  auto result = y.data.begin();
  for (int64_t outer = 0; outer < extent(dims, 0, axis); ++outer) {
    for (const Array* input : inputs) {
      const int64_t run = extent(input->shape, axis, input->shape.size());
      result = std::copy_n(input->data.begin() + outer * run, run, result);
    }
  }
  return {y};
}

std::vector<Array> split(const NetNode& node, const ReferenceInputs& inputs) {
  const Array& x = *inputs[0];
  const size_t axis = axis_of(node, x, 0);
  const int64_t whole = extent(x.shape, axis, x.shape.size());
  std::vector<Array> parts;
  int64_t start = 0;
  for (int64_t size : integers(*inputs[1])) {
    Ints dims = x.shape;
    dims[axis] = size;
    Array part(dims);
    const int64_t run = extent(dims, axis, dims.size());
    for (int64_t outer = 0; outer < extent(dims, 0, axis); ++outer) {
      std::copy_n(x.data.begin() + outer * whole + start, run, part.data.begin() + outer * run);
    }
    start += run;
    parts.push_back(std::move(part));
  }
  return parts;
}

// Positive steps only.
std::vector<Array> slice(const NetNode&, const ReferenceInputs& inputs) {
  const Array& x = *inputs[0];
  const Ints starts = integers(*inputs[1]);
  const Ints ends = integers(*inputs[2]);
  const Ints axes = integers(*inputs[3]);
  const Ints steps = inputs.size() > 4 ? integers(*inputs[4]) : Ints(axes.size(), 1);
  Ints dims = x.shape;
  Ints first(dims.size(), 0);
  Ints step(dims.size(), 1);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    const int64_t end = std::min(ends[i], dims[axis]);
    first[axis] = starts[i];
    step[axis] = steps[i];
    dims[axis] = (end - starts[i] + steps[i] - 1) / steps[i];
  }
  Array y(dims);
  auto result = y.data.begin();
  each_place(dims, [&](const Ints& place) {
    Ints from(place.size());
    for (size_t axis = 0; axis < from.size(); ++axis) {
      from[axis] = first[axis] + place[axis] * step[axis];
    }
    *result++ = x.data[offset_of(x.shape, from)];
  });
  return {y};
}

// Pads with zeros; negative pads are not supported.
std::vector<Array> pad(const NetNode&, const ReferenceInputs& inputs) {
  const Array& x = *inputs[0];
  const Ints pads = integers(*inputs[1]);
  Ints dims = x.shape;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    dims[axis] += pads[axis] + pads[axis + dims.size()];
  }
  Array y(dims);
  size_t at = 0;
  each_place(x.shape, [&](const Ints& place) {
    Ints to = place;
    for (size_t axis = 0; axis < to.size(); ++axis) to[axis] += pads[axis];
    y.data[offset_of(dims, to)] = x.data[at++];
  });
  return {y};
}

}  // namespace

ReferenceOps reference_moves() {
  return {{"Shape", shape},   {"Reshape", reshape}, {"Flatten", flatten}, {"Transpose", transpose},
          {"Concat", concat}, {"Split", split},     {"Slice", slice},     {"Pad", pad}};
}

}  // namespace dala::test
