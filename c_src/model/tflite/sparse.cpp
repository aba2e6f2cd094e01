#include "model/tflite/sparse.hpp"

#include <utility>

#include "model/tflite/schema.hpp"
#include "runtime/error.hpp"

namespace dala::model::tflite {
namespace {

constexpr size_t kMostLevels = 64;

// What there is along one axis, or along the inside of its blocks.
struct Level {
  size_t size = 0;    // places
  size_t stride = 0;  // elements from one place to the next
  bool listed = false;
  std::vector<int64_t> segments;  // of those listed: where each parent's places begin
  std::vector<int64_t> indices;
};

class Walk {
 public:
  Walk(const TensorInfo& tensor, size_t values, const std::function<void(size_t, size_t)>& place)
      : name_(tensor.name), values_(values), place_(place) {
    for (int64_t size : tensor.shape) elements_ *= static_cast<size_t>(size);
    read_levels(tensor);
  }

  // `node` counts the nodes of a level; those of the last are the values.
  void run(size_t level, size_t node, size_t element) const {
    if (level == levels_.size()) {
      if (node >= values_) reject(text("value ", node, " of ", values_));
      place_(element, node);
      return;
    }
    const Level& here = levels_[level];
    if (!here.listed) {
      for (size_t i = 0; i < here.size; ++i) {
        run(level + 1, node * here.size + i, element + i * here.stride);
      }
      return;
    }
    if (node + 1 >= here.segments.size()) reject(text("no segment ", node));
    const int64_t from = here.segments[node];
    const int64_t to = here.segments[node + 1];
    if (from < 0 || to < from || static_cast<size_t>(to) > here.indices.size() ||
        static_cast<size_t>(to - from) > here.size) {
      reject(text("a segment from ", from, " to ", to));
    }
    for (auto i = static_cast<size_t>(from); i < static_cast<size_t>(to); ++i) {
      const int64_t index = here.indices[i];
      if (index < 0 || static_cast<size_t>(index) >= here.size) reject(text("a place ", index));
      run(level + 1, i, element + static_cast<size_t>(index) * here.stride);
    }
  }

 private:
  [[noreturn]] void reject(const std::string& problem) const {
    throw Error(Reason::invalid_model, text("sparse tensor \"", name_, "\": ", problem));
  }

  // Lists come in three widths, by number. There are no more places than elements.
  template <typename T>
  std::vector<int64_t> read_list(const Table& table) const {
    const Numbers<T> numbers = table.numbers<T>(0);
    if (numbers.size() > elements_ + 1) reject(text("a list of ", numbers.size()));
    return numbers.integers();
  }

  std::vector<int64_t> read_list(const Table& dimension, int kind, int list) const {
    const auto table = dimension.table(list);
    if (!table) return {};
    switch (dimension.number<uint8_t>(kind)) {
      case 1:
        return read_list<int32_t>(*table);
      case 2:
        return read_list<uint16_t>(*table);
      case 3:
        return read_list<uint8_t>(*table);
      default:
        reject("a list of no known kind");
    }
  }

  void read_levels(const TensorInfo& tensor) {
    const std::vector<int64_t> order =
        tensor.sparsity->numbers<int32_t>(field::kSparsityTraversal).integers();
    const std::vector<int64_t> block_map =
        tensor.sparsity->numbers<int32_t>(field::kSparsityBlockMap).integers();
    const Tables dimensions = tensor.sparsity->tables(field::kSparsityDimensions);
    const size_t rank = tensor.shape.size();
    if (order.size() != rank + block_map.size() || order.size() != dimensions.size() ||
        order.size() > kMostLevels) {
      reject(text(order.size(), " levels for shape ", to_string(tensor.shape)));
    }
    // Sizes of blocks stand with their own levels.
    std::vector<size_t> inner(rank, 1);
    std::vector<size_t> strides(rank, 1);
    for (size_t d = rank; d-- > 1;) {
      strides[d - 1] = strides[d] * static_cast<size_t>(tensor.shape[d]);
    }
    for (size_t level = 0; level < order.size(); ++level) {
      const auto axis = static_cast<size_t>(order[level]);
      if (order[level] < 0 || axis >= order.size()) reject(text("a level of axis ", order[level]));
      if (axis < rank) continue;
      const int64_t of = block_map[axis - rank];
      const int64_t size = dimensions[level].number<int32_t>(field::kDimensionDenseSize);
      if (of < 0 || static_cast<size_t>(of) >= rank || size < 1 ||
          inner[static_cast<size_t>(of)] != 1) {
        reject(text("a block of ", size, " along axis ", of));
      }
      inner[static_cast<size_t>(of)] = static_cast<size_t>(size);
    }
    std::vector<bool> seen(order.size(), false);
    for (size_t i = 0; i < order.size(); ++i) {
      const auto axis = static_cast<size_t>(order[i]);
      if (seen[axis]) reject(text("two levels of axis ", axis));
      seen[axis] = true;
      const Table dimension = dimensions[i];
      Level level;
      if (axis < rank) {
        const auto size = static_cast<size_t>(tensor.shape[axis]);
        if (size % inner[axis] != 0) reject(text("blocks of ", inner[axis], " in ", size));
        level.size = size / inner[axis];
        level.stride = strides[axis] * inner[axis];
      } else {
        const auto of = static_cast<size_t>(block_map[axis - rank]);
        level.size = inner[of];
        level.stride = strides[of];
      }
      level.listed = dimension.number<int8_t>(field::kDimensionFormat) == 1;
      if (level.listed) {
        level.segments =
            read_list(dimension, field::kDimensionSegmentsKind, field::kDimensionSegments);
        level.indices =
            read_list(dimension, field::kDimensionIndicesKind, field::kDimensionIndices);
      } else if (dimension.number<int32_t>(field::kDimensionDenseSize) !=
                 static_cast<int64_t>(level.size)) {
        reject(text("a level of ", dimension.number<int32_t>(field::kDimensionDenseSize),
                    " places instead of ", level.size));
      }
      levels_.push_back(std::move(level));
    }
  }

  std::string_view name_;
  size_t elements_ = 1;
  size_t values_;
  const std::function<void(size_t, size_t)>& place_;
  std::vector<Level> levels_;
};

}  // namespace

void walk_sparse(const TensorInfo& tensor, size_t values,
                 const std::function<void(size_t element, size_t value)>& place) {
  Walk(tensor, values, place).run(0, 0, 0);
}

}  // namespace dala::model::tflite
