// Operators that read or write by index, and operators on shapes.
#include "model/import/tfjs/table.hpp"

namespace dala::model::tfjs {
namespace {

// Shapes and counts are i64 in ONNX and i32 in TF.js, like all integers.
TensorId narrow(OpCall& call, TensorId x) { return call.builder.cast(x, ElementType::i32); }

TensorId zero_of(OpCall& call, const char* attribute, double value = 0) {
  return call.builder.scalar(value, call.node.type(attribute).value_or(ElementType::f32));
}

void shape(OpCall& call) { call.set(narrow(call, call.builder.add("Shape", {call.in(0)}))); }

void size(OpCall& call) { call.set(narrow(call, call.builder.add("Size", {call.in(0)}))); }

void rank(OpCall& call) {
  const TensorId shape = call.builder.add("Shape", {call.in(0)});
  call.set(narrow(call, call.builder.add("Size", {shape})));
}

void fill(OpCall& call) {
  const TensorId value = call.builder.reshape(call.in(1), {});
  call.set(call.builder.add("Expand", {value, call.in(0)}));
}

void zeros_like(OpCall& call) {
  const TensorId shape = call.builder.add("Shape", {call.in(0)});
  call.set(call.builder.add("Expand", {zero_of(call, "T"), shape}));
}

void ones_like(OpCall& call) {
  const TensorId shape = call.builder.add("Shape", {call.in(0)});
  call.set(call.builder.add("Expand", {zero_of(call, "T", 1), shape}));
}

void range(OpCall& call) {
  call.set(call.builder.add("Range", {call.in(0), call.in(1), call.in(2)}));
}

void broadcast_to(OpCall& call) { call.set(call.builder.add("Expand", {call.in(0), call.in(1)})); }

void tile(OpCall& call) { call.set(call.builder.add("Tile", {call.in(0), call.in(1)})); }

void gather(OpCall& call) {
  GraphBuilder& builder = call.builder;
  const int64_t axis = call.inputs.size() > 2 ? call.integer_of(2, "an axis") : 0;
  const int64_t batch = call.node.integer("batch_dims", 0);
  if (batch == 0) {
    call.set(builder.add("Gather", {call.in(0), call.in(1)}, {{"axis", attr::integer(axis)}}));
    return;
  }
  if (batch < 0 || axis != batch) unsupported("batch_dims that differ from axis");
  const TensorId places = builder.add("Unsqueeze", {call.in(1), builder.integers({-1})});
  call.set(builder.add("GatherND", {call.in(0), builder.cast(places, ElementType::i64)},
                       {{"batch_dims", attr::integer(batch)}}));
}

void gather_nd(OpCall& call) {
  const TensorId places = call.builder.cast(call.in(1), ElementType::i64);
  call.set(call.builder.add("GatherND", {call.in(0), places}));
}

void scatter_nd(OpCall& call) {
  GraphBuilder& builder = call.builder;
  const TensorId places = builder.cast(call.in(0), ElementType::i64);
  const TensorId zeros = builder.add("Expand", {zero_of(call, "T"), call.in(2)});
  call.set(
      builder.add("ScatterND", {zeros, places, call.in(1)}, {{"reduction", attr::text("add")}}));
}

void tensor_scatter_update(OpCall& call) {
  const TensorId places = call.builder.cast(call.in(1), ElementType::i64);
  call.set(call.builder.add("ScatterND", {call.in(0), places, call.in(2)}));
}

// The same where the shape, the indices or the values are not constants.
void scatter_sparse(OpCall& call) {
  GraphBuilder& builder = call.builder;
  const TensorId dims = builder.reshape(builder.cast(call.in(1), ElementType::i64), {-1});
  const TensorId rank = builder.add("Shape", {dims});
  const TensorId rows =
      builder.add("Concat", {builder.integers({-1}), rank}, {{"axis", attr::integer(0)}});
  const TensorId places =
      builder.add("Reshape", {builder.cast(call.in(0), ElementType::i64), rows});
  const TensorId count =
      builder.add("Shape", {places}, {{"start", attr::integer(0)}, {"end", attr::integer(1)}});
  const TensorId values = builder.add("Expand", {call.in(2), count});
  const TensorId base = builder.add("Expand", {builder.reshape(call.in(3), {}), dims});
  call.set(builder.add("ScatterND", {base, places, values}));
}

// Scatters values into a tensor filled with the default value. Models use it for sparse weights,
// which are expanded here.
void sparse_to_dense(OpCall& call) {
  const HostTensorPtr places = call.builder.known(call.in(0));
  const HostTensorPtr values = call.builder.known(call.in(2));
  const HostTensorPtr fallback = call.builder.known(call.in(3));
  const HostTensorPtr shape = call.builder.known(call.in(1));
  if (places == nullptr || values == nullptr || fallback == nullptr || shape == nullptr) {
    scatter_sparse(call);
    return;
  }
  const Shape dims = shape->integers();
  // A small file must not expand to a large tensor.
  if (checked_type(DType::u8, dims).count() > 64 * (values->count() + 16)) {
    reject(text(values->count(), " values are too few for a sparse tensor of shape ",
                to_string(dims)));
  }
  auto dense = std::make_shared<HostTensor>(values->type, dims);
  const int64_t elements = dense->count();
  for (int64_t i = 0; i < elements; ++i) dense->set(i, fallback->number(0));
  const auto rank = static_cast<int64_t>(dims.size());
  const int64_t count = rank == 0 ? 0 : places->count() / rank;
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = 0;
    for (int64_t d = 0; d < rank; ++d) {
      const int64_t index = places->integer(i * rank + d);
      const int64_t dim = dims[static_cast<size_t>(d)];
      if (index < 0 || index >= dim) {
        reject(text("index ", index, " is out of range for a dimension of ", dim));
      }
      at = at * dim + index;
    }
    dense->set(at, values->number(values->count() == 1 ? 0 : i));
  }
  call.set(call.builder.constant(std::move(dense)));
}

void one_hot(OpCall& call) {
  GraphBuilder& builder = call.builder;
  const TensorId off = builder.reshape(call.in(3), {1});
  const TensorId on = builder.reshape(call.in(2), {1});
  const TensorId values = builder.add("Concat", {off, on}, {{"axis", attr::integer(0)}});
  call.set(builder.add("OneHot", {call.in(0), call.in(1), values},
                       {{"axis", attr::integer(call.node.integer("axis", -1))}}));
}

// The indices of nonzero elements, one row each.
void where(OpCall& call) {
  GraphBuilder& builder = call.builder;
  const TensorId places = builder.transpose(builder.add("NonZero", {call.in(0)}), {1, 0});
  call.set(narrow(call, places));
}

// The indices of the boxes {n, 4} that are kept, by descending score. V4 also returns their number,
// V5 their scores and their number.
void non_max_suppression(OpCall& call) {
  GraphBuilder& builder = call.builder;
  const std::string& op = call.node.op;
  const bool counted = op == "NonMaxSuppressionV4" || op == "NonMaxSuppressionV5";
  if (call.node.boolean("pad_to_max_output_size", false)) unsupported("padded results");
  if (op == "NonMaxSuppressionV5") {
    const HostTensorPtr sigma = builder.known(call.in(5));
    if (sigma == nullptr || sigma->number(0) != 0) unsupported("soft suppression");
  }
  const auto wide = [&](TensorId x, const std::vector<int64_t>& axes) {
    return builder.add("Unsqueeze", {x, builder.integers(axes)});
  };
  std::vector<TensorId> inputs{wide(call.in(0), {0}), wide(call.in(1), {0, 1}),
                               builder.cast(call.in(2), ElementType::i64), call.in(3)};
  if (op != "NonMaxSuppressionV2") inputs.push_back(call.in(4));
  const TensorId rows = builder.add("NonMaxSuppression", std::move(inputs));
  const TensorId boxes = builder.add("Gather", {rows, builder.scalar(2, ElementType::i64)},
                                     {{"axis", attr::integer(1)}});
  call.outputs = {narrow(call, boxes)};
  if (op == "NonMaxSuppressionV5") {
    call.outputs.push_back(builder.add("Gather", {call.in(1), boxes}));
  }
  if (counted) call.outputs.push_back(narrow(call, builder.add("Size", {boxes})));
}

}  // namespace

Operators indexing_operators() {
  return {
      {"BroadcastTo", broadcast_to},
      {"Fill", fill},
      {"Gather", gather},
      {"GatherNd", gather_nd},
      {"GatherV2", gather},
      {"NonMaxSuppressionV2", non_max_suppression},
      {"NonMaxSuppressionV3", non_max_suppression},
      {"NonMaxSuppressionV4", non_max_suppression},
      {"NonMaxSuppressionV5", non_max_suppression},
      {"OneHot", one_hot},
      {"OnesLike", ones_like},
      {"Range", range},
      {"Rank", rank},
      {"ScatterNd", scatter_nd},
      {"Shape", shape},
      {"Size", size},
      {"SparseToDense", sparse_to_dense},
      {"TensorScatterUpdate", tensor_scatter_update},
      {"Tile", tile},
      {"Where", where},
      {"ZerosLike", zeros_like},
  };
}

}  // namespace dala::model::tfjs
