// Operators that read or write elements by index.
#include <algorithm>

#include "kernels/elementwise/broadcast.hpp"
#include "model/ops/families.hpp"

namespace dala::model {
namespace {

int64_t is_wide(const Tensor& indices) {
  const DType dtype = storage_of(indices.type);
  if (dtype == DType::s64) return 1;
  if (dtype == DType::s32) return 0;
  throw Error(Reason::dtype_mismatch,
              text("indices are ", to_string(indices.type), ", expected i32 or i64"));
}

// Indices that are known while the model is planned are checked there. For others, the kernels give
// NaN, or -1 for integers.
void check_indices(const Tensor& indices, int64_t size) {
  if (indices.known == nullptr) return;
  for (int64_t i = 0; i < indices.count(); ++i) {
    const int64_t index = indices.known->integer(i);
    if (index >= -size && index < size) continue;
    throw Error(Reason::shape_mismatch,
                text("index ", index, " is out of range for an axis of ", size, " elements"));
  }
}

void gather_op(OpCall& call) {
  is_wide(call.in(1));
  const Tensor& x = call.in(0);
  check_indices(call.in(1), x.dim(call.axis(0, x.rank())));
  call.set(0, gather(call.build, call.in(0), call.axis(0, call.in(0).rank()), call.in(1)));
}

[[noreturn]] void reject_indices(const Tensor& indices, const Tensor& data) {
  throw Error(Reason::shape_mismatch, text("indices of shape ", to_string(indices.shape),
                                           " do not fit data of shape ", to_string(data.shape)));
}

// Dimensions and strides of data and indices, innermost first.
IndexWalk index_walk(const Tensor& data, const Tensor& indices, int64_t axis) {
  if (data.rank() != indices.rank() || data.rank() > MODEL_RANK) reject_indices(indices, data);
  IndexWalk walk{};
  walk.rank = data.rank();
  walk.wide = is_wide(indices);
  const Shape strides = strides_of(data.shape);
  for (int64_t d = 0; d < walk.rank; ++d) {
    const auto from = static_cast<size_t>(walk.rank - 1 - d);
    walk.dims[d] = data.shape[from];
    walk.strides[d] = strides[from];
    walk.index_dims[d] = indices.shape[from];
    const bool along = static_cast<int64_t>(from) == axis;
    if (along) walk.axis = d;
    if (!along && indices.shape[from] > data.shape[from]) reject_indices(indices, data);
  }
  return walk;
}

void gather_elements(OpCall& call) {
  const Tensor& data = call.in(0);
  const Tensor& indices = call.in(1);
  IndexWalk walk = index_walk(data, indices, call.axis(0, data.rank()));
  check_indices(indices, data.dim(call.axis(0, data.rank())));
  Tensor output = call.build.result({data, indices}, data.type, indices.shape);
  walk.count = output.count();
  call.build.run(move_family(data.type), "gather_elements", {data, indices}, output, {}, walk, 4);
  call.set(0, output);
}

// The last axis of `indices` holds tuples that index the dimensions of `data` from `batch` on.
IndexWalk tuple_walk(const Tensor& data, const Tensor& indices, int64_t batch) {
  if (indices.rank() < 1 || batch < 0 || batch >= indices.rank()) reject_indices(indices, data);
  const int64_t depth = indices.shape.back();
  if (depth < 1 || depth > MODEL_RANK || batch + depth > data.rank()) reject_indices(indices, data);
  IndexWalk walk{};
  walk.rank = depth;
  walk.wide = is_wide(indices);
  const Shape strides = strides_of(data.shape);
  for (int64_t d = 0; d < depth; ++d) {
    walk.dims[d] = data.dim(batch + d);
    walk.strides[d] = strides[static_cast<size_t>(batch + d)];
  }
  walk.slice = extent(data.shape, batch + depth, data.rank());
  walk.tuples = extent(indices.shape, 0, indices.rank() - 1);
  walk.batch_tuples = std::max<int64_t>(1, extent(indices.shape, batch, indices.rank() - 1));
  walk.batch_stride = extent(data.shape, batch, data.rank());
  return walk;
}

void gather_nd(OpCall& call) {
  const Tensor& data = call.in(0);
  const Tensor& indices = call.in(1);
  const int64_t batch = call.integer("batch_dims", 0);
  IndexWalk walk = tuple_walk(data, indices, batch);
  for (int64_t d = 0; d < batch; ++d) {
    if (data.dim(d) != indices.dim(d)) reject_indices(indices, data);
  }
  Shape shape(indices.shape.begin(), indices.shape.end() - 1);
  shape.insert(shape.end(), data.shape.begin() + batch + walk.rank, data.shape.end());
  Tensor output = call.build.result({data, indices}, data.type, shape);
  walk.count = output.count();
  call.build.run(move_family(data.type), "gather_nd", {data, indices}, output, {}, walk, 4);
  call.set(0, output);
}

ScatterMode scatter_mode(const OpCall& call) {
  const std::string name = call.text("reduction", "none");
  if (name == "none") return SCATTER_REPLACE;
  if (name == "add") return SCATTER_ADD;
  if (name == "mul") return SCATTER_MUL;
  if (name == "min") return SCATTER_MIN;
  if (name == "max") return SCATTER_MAX;
  reject(text("reduction is \"", name, "\", expected none, add, mul, min or max"));
}

void scatter_elements(OpCall& call) {
  const Tensor& data = call.in(0);
  const Tensor& indices = call.in(1);
  const Tensor& updates = call.in(2);
  if (updates.shape != indices.shape || updates.type != data.type) {
    throw Error(
        Reason::shape_mismatch,
        text("updates of ", to_string(updates.type), " and shape ", to_string(updates.shape),
             ", expected ", to_string(data.type), " and shape ", to_string(indices.shape)));
  }
  const int64_t axis = call.axis(0, data.rank());
  IndexWalk walk = index_walk(data, indices, axis);
  walk.how = scatter_mode(call);
  Tensor output = call.build.result({data, indices, updates}, data.type, data.shape);
  call.build.copy(data, output);
  const int64_t length = indices.dim(axis);
  walk.count = length == 0 ? 0 : indices.count() / length;
  call.build.run(math_family(data.type), "scatter_elements", {indices, updates}, output, {}, walk,
                 static_cast<double>(4 * length));
  call.set(0, output);
}

void scatter_nd(OpCall& call) {
  const Tensor& data = call.in(0);
  const Tensor& indices = call.in(1);
  const Tensor& updates = call.in(2);
  IndexWalk walk = tuple_walk(data, indices, 0);
  Shape expected(indices.shape.begin(), indices.shape.end() - 1);
  expected.insert(expected.end(), data.shape.begin() + walk.rank, data.shape.end());
  if (updates.shape != expected || updates.type != data.type) {
    throw Error(
        Reason::shape_mismatch,
        text("updates of ", to_string(updates.type), " and shape ", to_string(updates.shape),
             ", expected ", to_string(data.type), " and shape ", to_string(expected)));
  }
  walk.how = scatter_mode(call);
  Tensor output = call.build.result({data, indices, updates}, data.type, data.shape);
  call.build.copy(data, output);
  walk.count = walk.slice;
  call.build.run(math_family(data.type), "scatter_nd", {indices, updates}, output, {}, walk,
                 static_cast<double>(4 * walk.tuples));
  call.set(0, output);
}

// Compares the indices, broadcast along the new axis, with 0, 1, .. along that axis.
void one_hot(OpCall& call) {
  Build& build = call.build;
  const Tensor& indices = call.in(0);
  const int64_t depth = build.values(call.in(1)).integer(0);
  const Tensor& values = call.in(2);
  if (depth < 1 || depth > (int64_t{1} << 22) || values.count() != 2) {
    throw Error(Reason::shape_mismatch,
                text("OneHot with depth ", depth, " and ", values.count(),
                     " values, expected a depth of at least 1 and 2 values"));
  }
  const int64_t rank = indices.rank() + 1;
  const int64_t axis = call.axis(-1, rank);
  std::vector<int64_t> numbers(static_cast<size_t>(depth));
  for (int64_t i = 0; i < depth; ++i) numbers[static_cast<size_t>(i)] = i;
  Shape along(static_cast<size_t>(rank), 1);
  along[static_cast<size_t>(axis)] = depth;
  const Tensor places = Build::reshaped(build.constant(vector_of(numbers)), along);
  Shape beside = indices.shape;
  beside.insert(beside.begin() + axis, 1);

  Tensor given = convert(build, Build::reshaped(indices, beside), ElementType::i64);
  const Tensor negative = compare(build, CMP_LESS, given, scalar(build, given.type, 0));
  const Tensor shifted =
      pointwise(build, OP_ADD, {given, scalar(build, given.type, static_cast<double>(depth))});
  given = choose(build, negative, shifted, given);
  const Tensor hit = compare(build, CMP_EQUAL, given, places);
  const Tensor flat = Build::reshaped(values, {2});
  const Tensor off = Build::reshaped(part(build, flat, 0, 0, 1), {});
  const Tensor on = Build::reshaped(part(build, flat, 0, 1, 1), {});
  call.set(0, choose(build, hit, on, off));
}

void trilu(OpCall& call) {
  const Tensor& x = call.in(0);
  if (x.rank() < 2) {
    throw Error(Reason::shape_mismatch,
                text("input 0 has shape ", to_string(x.shape), ", expected at least 2 dimensions"));
  }
  const bool upper = call.integer("upper", 1) != 0;
  const int64_t diagonal = call.has(1) ? call.build.values(call.in(1)).integer(0) : 0;
  const int64_t rows = x.dim(x.rank() - 2);
  const int64_t columns = x.shape.back();
  if (rows > (int64_t{1} << 24) || rows * columns > (int64_t{1} << 24)) {
    unsupported(text("Trilu of ", rows, " by ", columns, " matrices is not supported"));
  }
  auto mask = std::make_shared<HostTensor>(ElementType::boolean, Shape{rows, columns});
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const bool kept = upper ? c - r >= diagonal : c - r <= diagonal;
      mask->data<uint8_t>()[r * columns + c] = kept ? 1 : 0;
    }
  }
  call.set(0, choose(call.build, call.build.constant(mask), x, scalar(call.build, x.type, 0)));
}

void reverse_sequence(OpCall& call) {
  const Tensor& x = call.in(0);
  const int64_t batch_axis = normal_axis(call.integer("batch_axis", 1), x.rank());
  const int64_t time_axis = normal_axis(call.integer("time_axis", 0), x.rank());
  const std::vector<int64_t> lengths = call.build.integers(call.in(1));
  if (batch_axis == time_axis || static_cast<int64_t>(lengths.size()) != x.dim(batch_axis)) {
    throw Error(Reason::shape_mismatch,
                text(lengths.size(), " sequence lengths do not fit shape ", to_string(x.shape),
                     " with batch axis ", batch_axis, " and time axis ", time_axis));
  }
  Tensor output = call.build.result({x, call.in(1)}, x.type, x.shape);
  call.build.copy(x, output);
  std::vector<int64_t> at(x.shape.size(), 0);
  for (size_t b = 0; b < lengths.size(); ++b) {
    if (lengths[b] < 1 || lengths[b] > x.dim(time_axis)) {
      throw Error(Reason::shape_mismatch, text("sequence length ", lengths[b],
                                               " is out of range for shape ", to_string(x.shape)));
    }
    std::vector<int64_t> starts(x.shape.size(), 0);
    std::vector<int64_t> steps(x.shape.size(), 1);
    Shape shape = x.shape;
    starts[static_cast<size_t>(batch_axis)] = static_cast<int64_t>(b);
    shape[static_cast<size_t>(batch_axis)] = 1;
    starts[static_cast<size_t>(time_axis)] = lengths[b] - 1;
    steps[static_cast<size_t>(time_axis)] = -1;
    shape[static_cast<size_t>(time_axis)] = lengths[b];
    at[static_cast<size_t>(batch_axis)] = static_cast<int64_t>(b);
    place_into(call.build, slice(call.build, x, starts, steps, shape), output, at);
  }
  call.set(0, output);
}

}  // namespace

Operators indexing_operators() {
  return {
      {"Gather", gather_op},
      {"GatherElements", gather_elements},
      {"GatherND", gather_nd},
      {"OneHot", one_hot},
      {"ReverseSequence", reverse_sequence},
      {"Scatter", scatter_elements},
      {"ScatterElements", scatter_elements},
      {"ScatterND", scatter_nd},
      {"Trilu", trilu},
  };
}

}  // namespace dala::model
