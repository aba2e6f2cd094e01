#include "model/import/tflite/sparse.hpp"

#include <utility>

#include "model/import/tflite/schema.hpp"
#include "runtime/error.hpp"

namespace dala::model::tflite {
namespace {

constexpr size_t kMaxLevels = 64;

// One level of the tree: an axis in units of blocks, or an axis within a block.
struct Level {
  size_t size = 0;    // indices along the axis
  size_t stride = 0;  // elements between two indices
  bool sparse = false;
  std::vector<int64_t> segments;  // if sparse: where the children of each parent begin
  std::vector<int64_t> indices;   // if sparse: the index of each child
};

class Walk {
 public:
  Walk(const TensorInfo& tensor, size_t values, const std::function<void(size_t, size_t)>& place)
      : name_(tensor.name), values_(values), place_(place) {
    for (int64_t size : tensor.shape) elements_ *= static_cast<size_t>(size);
    read_levels(tensor);
  }

  // `node` is the number of a node within its level; nodes below the last level are values.
  void run(size_t level, size_t node, size_t element) const {
    if (level == levels_.size()) {
      if (node >= values_) {
        reject(text("value ", node, " does not exist, there are ", values_, " values"));
      }
      place_(element, node);
      return;
    }
    const Level& here = levels_[level];
    if (!here.sparse) {
      for (size_t i = 0; i < here.size; ++i) {
        run(level + 1, node * here.size + i, element + i * here.stride);
      }
      return;
    }
    if (node + 1 >= here.segments.size()) reject(text("segment ", node, " does not exist"));
    const int64_t from = here.segments[node];
    const int64_t to = here.segments[node + 1];
    if (from < 0 || to < from || static_cast<size_t>(to) > here.indices.size() ||
        static_cast<size_t>(to - from) > here.size) {
      reject(text("invalid segment from ", from, " to ", to));
    }
    for (auto i = static_cast<size_t>(from); i < static_cast<size_t>(to); ++i) {
      const int64_t index = here.indices[i];
      if (index < 0 || static_cast<size_t>(index) >= here.size) {
        reject(text("index ", index, " is out of range for size ", here.size));
      }
      run(level + 1, i, element + static_cast<size_t>(index) * here.stride);
    }
  }

 private:
  [[noreturn]] void reject(const std::string& problem) const {
    throw Error(Reason::invalid_model, text("sparse tensor \"", name_, "\": ", problem));
  }

  // A list cannot be longer than the number of elements plus one.
  template <typename T>
  std::vector<int64_t> read_list(const Table& table) const {
    const Numbers<T> numbers = table.numbers<T>(field::kIndexVectorValues);
    if (numbers.size() > elements_ + 1) {
      reject(text("a list of ", numbers.size(), " indices for ", elements_, " elements"));
    }
    return numbers.integers();
  }

  std::vector<int64_t> read_list(const Table& dimension, int type, int list) const {
    const auto table = dimension.table(list);
    if (!table) return {};
    const auto number = dimension.number<uint8_t>(type);
    switch (static_cast<IndexVectorType>(number)) {
      case IndexVectorType::int32:
        return read_list<int32_t>(*table);
      case IndexVectorType::uint16:
        return read_list<uint16_t>(*table);
      case IndexVectorType::uint8:
        return read_list<uint8_t>(*table);
      default:
        reject(text("unknown index vector type ", static_cast<int>(number)));
    }
  }

  // The size of the blocks along each axis: that of the level within the block, or 1.
  std::vector<size_t> block_sizes(size_t rank, const std::vector<int64_t>& order,
                                  const std::vector<int64_t>& block_map,
                                  const Tables& dimensions) const {
    std::vector<size_t> inner(rank, 1);
    for (size_t level = 0; level < order.size(); ++level) {
      const auto axis = static_cast<size_t>(order[level]);
      if (order[level] < 0 || axis >= order.size()) {
        reject(text("a level refers to the invalid axis ", order[level]));
      }
      if (axis < rank) continue;
      const int64_t of = block_map[axis - rank];
      const int64_t size = dimensions[level].number<int32_t>(field::kDimensionDenseSize);
      if (of < 0 || static_cast<size_t>(of) >= rank || size < 1 ||
          inner[static_cast<size_t>(of)] != 1) {
        reject(text("invalid block of ", size, " along axis ", of));
      }
      inner[static_cast<size_t>(of)] = static_cast<size_t>(size);
    }
    return inner;
  }

  void read_levels(const TensorInfo& tensor) {
    const std::vector<int64_t> order =
        tensor.sparsity->numbers<int32_t>(field::kSparsityTraversal).integers();
    const std::vector<int64_t> block_map =
        tensor.sparsity->numbers<int32_t>(field::kSparsityBlockMap).integers();
    const Tables dimensions = tensor.sparsity->tables(field::kSparsityDimensions);
    const size_t rank = tensor.shape.size();
    if (order.size() != rank + block_map.size() || order.size() != dimensions.size() ||
        order.size() > kMaxLevels) {
      reject(text(order.size(), " levels do not fit shape ", to_string(tensor.shape)));
    }
    const std::vector<size_t> inner = block_sizes(rank, order, block_map, dimensions);
    std::vector<size_t> strides(rank, 1);
    for (size_t d = rank; d-- > 1;) {
      strides[d - 1] = strides[d] * static_cast<size_t>(tensor.shape[d]);
    }
    std::vector<bool> seen(order.size(), false);
    for (size_t i = 0; i < order.size(); ++i) {
      const auto axis = static_cast<size_t>(order[i]);
      if (seen[axis]) reject(text("two levels refer to axis ", axis));
      seen[axis] = true;
      const Table dimension = dimensions[i];
      Level level;
      if (axis < rank) {
        const auto size = static_cast<size_t>(tensor.shape[axis]);
        if (size % inner[axis] != 0) {
          reject(text("a dimension of ", size, " is not a multiple of its block of ", inner[axis]));
        }
        level.size = size / inner[axis];
        level.stride = strides[axis] * inner[axis];
      } else {
        const auto of = static_cast<size_t>(block_map[axis - rank]);
        level.size = inner[of];
        level.stride = strides[of];
      }
      const auto format = dimension.number<int8_t>(field::kDimensionFormat);
      level.sparse = static_cast<DimensionFormat>(format) == DimensionFormat::sparse_csr;
      if (level.sparse) {
        level.segments =
            read_list(dimension, field::kDimensionSegmentsType, field::kDimensionSegments);
        level.indices =
            read_list(dimension, field::kDimensionIndicesType, field::kDimensionIndices);
      } else if (dimension.number<int32_t>(field::kDimensionDenseSize) !=
                 static_cast<int64_t>(level.size)) {
        reject(text("a dense level has size ",
                    dimension.number<int32_t>(field::kDimensionDenseSize), ", expected ",
                    level.size));
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
