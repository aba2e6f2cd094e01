// Slices of TensorFlow. A bound that is not a constant is one of the plan: it nearly always follows
// from shapes.
#include <numeric>

#include "model/graph/problem.hpp"
#include "model/import/common/tensorflow.hpp"

namespace dala::model::tensorflow {
namespace {

constexpr int64_t kBeforeAll = INT64_MIN;
constexpr int64_t kAfterAll = INT64_MAX;
constexpr size_t kMostAxes = 32;

// Bounds, of which each may be a constant or not.
class Bounds {
 public:
  Bounds(GraphBuilder& builder, TensorId values) : builder_(builder) {
    if (const HostTensorPtr known = builder.known(values)) {
      known_ = known->integers();
    } else {
      values_ = builder.reshape(builder.cast(values, ElementType::i64), {-1});
    }
  }

  bool known() const { return values_ == kNone; }
  size_t size() const { return known_.size(); }
  std::optional<int64_t> constant(size_t index) const {
    return known() ? std::optional(known_.at(index)) : std::nullopt;
  }
  // One element.
  TensorId at(size_t index) const {
    if (known()) return builder_.integers({known_.at(index)});
    return builder_.add("Gather", {values_, builder_.integers({static_cast<int64_t>(index)})});
  }

 private:
  GraphBuilder& builder_;
  std::vector<int64_t> known_;
  TensorId values_ = kNone;
};

TensorId vector_of(GraphBuilder& builder, std::vector<TensorId> elements) {
  std::vector<int64_t> values;
  for (TensorId each : elements) {
    const HostTensorPtr known = builder.known(each);
    if (known == nullptr) {
      return builder.add("Concat", std::move(elements), {{"axis", attr::integer(0)}});
    }
    values.push_back(known->integer(0));
  }
  return builder.integers(values);
}

// The end of a slice of one element from `start` on.
TensorId after(GraphBuilder& builder, TensorId start) {
  if (const HostTensorPtr known = builder.known(start)) {
    const int64_t from = known->integer(0);
    return builder.integers({from == -1 || from == kAfterAll ? kAfterAll : from + 1});
  }
  const TensorId last = builder.add("Equal", {start, builder.integers({-1})});
  const TensorId next = builder.add("Add", {start, builder.integers({1})});
  return builder.add("Where", {last, builder.integers({kAfterAll}), next});
}

// The parts of a strided slice, from the entries of its bounds.
struct Parts {
  std::vector<TensorId> starts;
  std::vector<TensorId> ends;
  std::vector<int64_t> axes;
  std::vector<int64_t> steps;
  std::vector<int64_t> shrunk;
  std::vector<int64_t> added;
};

bool in(int64_t mask, size_t bit) { return (mask >> bit & 1) != 0; }

// After the ellipsis, axes of the input and of the result are counted from the end.
struct Position {
  int64_t axis = 0;
  int64_t result = 0;
};

Position after_ellipsis(const SliceMasks& masks, size_t count) {
  Position left;
  bool ellipsis = false;
  for (size_t i = 0; i < count; ++i) {
    if (in(masks.ellipsis, i)) {
      if (ellipsis) reject("a slice with two ellipses");
      ellipsis = true;
    } else if (ellipsis) {
      const bool added = in(masks.new_axis, i);
      left.axis -= added ? 0 : 1;
      left.result -= added || !in(masks.shrink_axis, i) ? 1 : 0;
    }
  }
  return left;
}

Parts parts_of(GraphBuilder& builder, const Bounds& from, const Bounds& to,
               const std::vector<int64_t>& steps, const SliceMasks& masks) {
  Parts parts;
  const Position left = after_ellipsis(masks, steps.size());
  Position at;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (in(masks.ellipsis, i)) {
      at = left;
      continue;
    }
    if (in(masks.new_axis, i)) {
      parts.added.push_back(at.result++);
      continue;
    }
    if (steps[i] == 0) reject("a slice with a stride of 0");
    const bool forward = steps[i] > 0;
    const bool shrinks = in(masks.shrink_axis, i);
    const TensorId start =
        in(masks.begin, i) ? builder.integers({forward ? 0 : kAfterAll}) : from.at(i);
    TensorId stop = kNone;
    if (shrinks) {
      if (!forward) reject("a slice with a shrunk axis has a negative stride");
      stop = after(builder, start);
      parts.shrunk.push_back(at.axis);
    } else {
      stop = in(masks.end, i) ? builder.integers({forward ? kAfterAll : kBeforeAll}) : to.at(i);
      ++at.result;
    }
    parts.starts.push_back(start);
    parts.ends.push_back(stop);
    parts.axes.push_back(at.axis++);
    parts.steps.push_back(shrinks ? 1 : steps[i]);
  }
  return parts;
}

}  // namespace

TensorId strided_slice(GraphBuilder& builder, TensorId x, TensorId begin, TensorId end,
                       TensorId strides, const SliceMasks& masks) {
  const std::vector<int64_t> steps = builder.known_integers(strides, "a stride");
  const size_t count = steps.size();
  if (count > kMostAxes) {
    reject(text("a slice of ", count, " axes, at most ", kMostAxes, " expected"));
  }
  const Bounds from(builder, begin);
  const Bounds to(builder, end);
  if ((from.known() && from.size() != count) || (to.known() && to.size() != count)) {
    reject(
        text("a slice has ", from.size(), " begins, ", to.size(), " ends and ", count, " strides"));
  }
  Parts parts = parts_of(builder, from, to, steps, masks);
  TensorId y = x;
  if (!parts.axes.empty()) {
    y = builder.add("Slice", {y, vector_of(builder, std::move(parts.starts)),
                              vector_of(builder, std::move(parts.ends)),
                              builder.integers(parts.axes), builder.integers(parts.steps)});
  }
  if (!parts.shrunk.empty()) y = builder.add("Squeeze", {y, builder.integers(parts.shrunk)});
  if (!parts.added.empty()) y = builder.add("Unsqueeze", {y, builder.integers(parts.added)});
  return y == x ? builder.add("Identity", {x}) : y;
}

TensorId slice(GraphBuilder& builder, TensorId x, TensorId begin, TensorId size) {
  const HostTensorPtr from = builder.known(begin);
  const HostTensorPtr sizes = builder.known(size);
  if (from == nullptr || sizes == nullptr) {
    const auto wide = [&](TensorId values) {
      return builder.reshape(builder.cast(values, ElementType::i64), {-1});
    };
    const TensorId start = wide(begin);
    const TensorId length = wide(size);
    const TensorId open = builder.add("Less", {length, builder.integers({0})});
    const TensorId end = builder.add("Add", {start, length});
    return builder.add(
        "Slice", {x, start, builder.add("Where", {open, builder.integers({kAfterAll}), end})});
  }
  const std::vector<int64_t> starts = from->integers();
  std::vector<int64_t> ends = sizes->integers();
  if (starts.size() != ends.size() || starts.size() > kMostAxes) {
    reject(text("a slice has ", starts.size(), " begins and ", ends.size(), " sizes"));
  }
  for (size_t i = 0; i < ends.size(); ++i) {
    if (starts[i] < 0 || starts[i] > (int64_t{1} << 40) || ends[i] > (int64_t{1} << 40)) {
      reject(text("a slice with begin ", starts[i], " and size ", ends[i], " is out of range"));
    }
    ends[i] = ends[i] < 0 ? kAfterAll : starts[i] + ends[i];
  }
  return builder.add("Slice", {x, builder.integers(starts), builder.integers(ends)});
}

}  // namespace dala::model::tensorflow
