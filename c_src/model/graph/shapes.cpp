#include "model/graph/shapes.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/descriptor.hpp"
#include "kernels/elementwise/broadcast.hpp"
#include "model/graph/problem.hpp"
#include "runtime/error.hpp"

namespace dala::model {

Shape broadcast_shape(const std::vector<Shape>& shapes) {
  Shape result;
  for (const Shape& shape : shapes) {
    if (shape.size() > result.size()) {
      result.insert(result.begin(), shape.size() - result.size(), 1);
    }
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t& dimension = result[result.size() - shape.size() + d];
      if (dimension == shape[d] || shape[d] == 1) continue;
      if (dimension != 1) {
        std::vector<std::string> texts;
        for (const Shape& each : shapes) texts.push_back(to_string(each));
        throw Error(Reason::shape_mismatch, text("the shapes ", join(texts), " do not broadcast"));
      }
      dimension = shape[d];
    }
  }
  return result;
}

int64_t normal_axis(int64_t axis, int64_t rank) {
  const int64_t normal = axis < 0 ? axis + rank : axis;
  if (normal >= 0 && normal < rank) return normal;
  throw Error(Reason::shape_mismatch, text("axis ", axis, " is out of range for rank ", rank));
}

std::vector<int64_t> normal_axes(const std::vector<int64_t>& axes, int64_t rank) {
  std::vector<int64_t> result;
  for (int64_t axis : axes) result.push_back(normal_axis(axis, rank));
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end()) {
    throw Error(Reason::shape_mismatch, text("axes ", to_string(axes), " have a duplicate"));
  }
  if (axes.empty()) {
    result.resize(static_cast<size_t>(rank));
    std::iota(result.begin(), result.end(), int64_t{0});
  }
  return result;
}

int64_t extent(const Shape& shape, int64_t from, int64_t to) {
  int64_t product = 1;
  for (int64_t d = from; d < to; ++d) product *= shape[static_cast<size_t>(d)];
  return product;
}

Walk make_walk(const Shape& dims, const std::vector<WalkOperand>& inputs,
               const WalkOperand& output) {
  Walk walk{};
  std::vector<std::pair<size_t, const WalkOperand*>> operands;
  for (size_t n = 0; n < inputs.size(); ++n) operands.emplace_back(n, &inputs[n]);
  operands.emplace_back(3, &output);
  for (const auto& [slot, operand] : operands) walk.offsets[slot] = operand->offset;
  walk.count = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    walk.count *= dims[d];
    if (dims[d] == 1) continue;
    const long inner = walk.rank - 1;
    bool merges = walk.rank > 0;
    for (const auto& [slot, operand] : operands) {
      merges = merges &&
               operand->strides[d] == walk.strides[slot * MODEL_RANK + inner] * walk.dims[inner];
    }
    if (merges) {
      walk.dims[inner] *= dims[d];
      continue;
    }
    if (walk.rank == MODEL_RANK) {
      unsupported(text("more than ", MODEL_RANK, " dimensions that cannot be merged, in shape ",
                       to_string(dims)));
    }
    walk.dims[walk.rank] = dims[d];
    for (const auto& [slot, operand] : operands)
      walk.strides[slot * MODEL_RANK + walk.rank] = operand->strides[d];
    ++walk.rank;
  }
  if (walk.rank == 0) {
    walk.rank = 1;
    walk.dims[0] = 1;
  }
  return walk;
}

Shape broadcast_strides(const Shape& shape, const Shape& to) {
  const Shape own = strides_of(shape);
  Shape result(to.size(), 0);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != 1) result[to.size() - shape.size() + d] = own[d];
  }
  return result;
}

}  // namespace dala::model
