// TopK, and operators whose output size depends on values, which run on the host once the values
// are available.
#include <algorithm>
#include <map>
#include <numeric>

#include "model/ops/families.hpp"

namespace dala::model {
namespace {

constexpr int64_t kLongAxis = 128;  // elements beyond which sorting beats ranking each of them

// The indices of the first k elements along the axis.
Tensor first_places(Build& build, const Tensor& x, int64_t axis, int64_t k, bool largest) {
  Shape shape = x.shape;
  shape[static_cast<size_t>(axis)] = k;
  // The kernel would take unsigned numbers of 64 bits for signed ones.
  const bool sortable = x.type != ElementType::u64 && x.dim(axis) < (int64_t{1} << 31);
  if (x.known == nullptr && x.dim(axis) > kLongAxis && k > 0 && sortable) {
    return build.kernel("top_k", {x}, ElementType::i64, shape,
                        {{"axis", axis}, {"largest", largest}, {"result", std::string("indices")}});
  }
  AxisWalk walk{};
  walk.outer = extent(x.shape, 0, axis);
  walk.axis = x.dim(axis);
  walk.inner = extent(x.shape, axis + 1, x.rank());
  walk.picks = k;
  walk.first_flag = largest ? 1 : 0;
  walk.count = x.count();
  Tensor places = build.result({x}, ElementType::i64, shape, static_cast<double>(walk.axis));
  build.run(math_family(x.type), "rank_axis", {x}, places, {}, walk,
            static_cast<double>(walk.axis));
  return places;
}

void top_k(OpCall& call) {
  const Tensor& x = call.in(0);
  const int64_t k = call.has(1) ? call.build.values(call.in(1)).integer(0) : call.integer("k", 0);
  const int64_t axis = call.axis(-1, x.rank());
  if (k < 0 || k > x.dim(axis)) {
    throw Error(Reason::shape_mismatch,
                text("k is ", k, ", the axis has ", x.dim(axis), " elements"));
  }
  Build& build = call.build;
  const Tensor places = first_places(build, x, axis, k, call.integer("largest", 1) != 0);

  // The values are gathered as by GatherElements.
  IndexWalk pick{};
  if (x.rank() > MODEL_RANK) {
    unsupported(text("more than ", MODEL_RANK, " dimensions are not supported"));
  }
  pick.rank = x.rank();
  pick.wide = 1;
  int64_t stride = 1;
  for (int64_t d = 0; d < pick.rank; ++d) {
    const int64_t from = pick.rank - 1 - d;
    pick.dims[d] = x.dim(from);
    pick.index_dims[d] = places.dim(from);
    pick.strides[d] = stride;
    stride *= x.dim(from);
    if (from == axis) pick.axis = d;
  }
  Tensor values = build.result({x, places}, x.type, places.shape);
  pick.count = values.count();
  build.run(move_family(x.type), "gather_elements", {x, places}, values, {}, pick, 4);
  call.set(0, values);
  call.set(1, places);
}

// The indices of all nonzero elements, as columns.
void non_zero(OpCall& call) {
  const HostTensor& x = call.build.values(call.in(0));
  std::vector<int64_t> found;
  for (int64_t i = 0; i < x.count(); ++i) {
    if (x.number(i) != 0) found.push_back(i);
  }
  const auto rank = static_cast<int64_t>(x.shape.size());
  const auto count = static_cast<int64_t>(found.size());
  auto places = std::make_shared<HostTensor>(ElementType::i64, Shape{rank, count});
  for (int64_t n = 0; n < count; ++n) {
    int64_t rest = found[static_cast<size_t>(n)];
    for (int64_t d = rank; d-- > 0;) {
      const int64_t size = x.shape[static_cast<size_t>(d)];
      places->data<int64_t>()[d * count + n] = rest % size;
      rest /= size;
    }
  }
  call.set(0, call.build.constant(places));
}

void compress(OpCall& call) {
  Tensor x = call.in(0);
  int64_t axis = 0;
  if (call.has_attribute("axis")) {
    axis = call.axis(0, x.rank());
  } else {
    x = Build::reshaped(x, {x.count()});
  }
  const HostTensor& condition = call.build.values(call.in(1));
  std::vector<int64_t> places;
  for (int64_t i = 0; i < std::min(condition.count(), x.dim(axis)); ++i) {
    if (condition.integer(i) != 0) places.push_back(i);
  }
  call.set(0, gather(call.build, x, axis, call.build.constant(vector_of(places))));
}

// The unique slices along an axis, or unique elements without one: sorted or in order of first
// occurrence, with first indices, inverse indices and counts.
void unique(OpCall& call) {
  Build& build = call.build;
  Tensor x = call.in(0);
  int64_t axis = 0;
  const bool flat = !call.has_attribute("axis");
  if (flat) {
    x = Build::reshaped(x, {x.count()});
  } else {
    axis = call.axis(0, x.rank());
  }
  const HostTensor& values = build.values(x);
  const int64_t outer = extent(x.shape, 0, axis);
  const int64_t inner = extent(x.shape, axis + 1, x.rank());
  const int64_t size = x.dim(axis);
  std::map<std::vector<double>, std::vector<int64_t>> groups;
  for (int64_t i = 0; i < size; ++i) {
    std::vector<double> key;
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t n = 0; n < inner; ++n) key.push_back(values.number((o * size + i) * inner + n));
    }
    groups[key].push_back(i);
  }
  std::vector<std::vector<int64_t>> ordered;
  for (auto& [key, members] : groups) ordered.push_back(std::move(members));
  if (call.integer("sorted", 1) == 0) {
    std::sort(ordered.begin(), ordered.end(),
              [](const auto& a, const auto& b) { return a.front() < b.front(); });
  }
  std::vector<int64_t> first;
  std::vector<int64_t> inverse(static_cast<size_t>(size));
  std::vector<int64_t> counts;
  for (size_t g = 0; g < ordered.size(); ++g) {
    first.push_back(ordered[g].front());
    counts.push_back(static_cast<int64_t>(ordered[g].size()));
    for (int64_t member : ordered[g])
      inverse[static_cast<size_t>(member)] = static_cast<int64_t>(g);
  }
  call.set(0, gather(build, x, axis, build.constant(vector_of(first))));
  call.set(1, build.constant(vector_of(first)));
  call.set(2, build.constant(vector_of(inverse)));
  call.set(3, build.constant(vector_of(counts)));
}

}  // namespace

Operators selection_operators() {
  return {
      {"Compress", compress},
      {"NonZero", non_zero},
      {"TopK", top_k},
      {"Unique", unique},
  };
}

}  // namespace dala::model
