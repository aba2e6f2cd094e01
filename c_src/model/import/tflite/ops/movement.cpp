// Operators that only move elements: reshaping, transposing, slicing, joining, padding, gathering.
#include <algorithm>

#include "model/import/common/tensorflow.hpp"
#include "model/import/tflite/schema.hpp"
#include "model/import/tflite/table.hpp"

namespace dala::model::tflite {
namespace {

int64_t known_axis(const OpCall& call, size_t input) {
  const auto axes = call.builder.known_integers(call.in(input), "an axis");
  if (axes.size() != 1) reject(text(axes.size(), " axes, expected 1"));
  return axes[0];
}

void batch_to_space(OpCall& call) {
  call.set(0, tensorflow::batch_to_space(call.builder, call.in(0), call.in(1), call.in(2)));
}

void space_to_batch(OpCall& call) {
  call.set(0, tensorflow::space_to_batch(call.builder, call.in(0), call.in(1), call.in(2)));
}

void broadcast_to(OpCall& call) {
  const TensorId shape = call.builder.cast(call.in(1), ElementType::i64);
  call.set(0, call.builder.add("Expand", {call.in(0), shape}));
}

void concatenation(OpCall& call) {
  for (size_t i = 0; i < call.op.inputs.size(); ++i) call.in(i);
  const TensorId y = call.builder.add(
      "Concat", call.inputs, {{"axis", attr::integer(call.integer(option::kConcatenationAxis))}});
  call.set(0, channels_last::with_epilogue(call.builder, y,
                                           call.activation(option::kConcatenationActivation)));
}

void expand_dims(OpCall& call) {
  const TensorId axis = call.builder.integers({known_axis(call, 1)});
  call.set(0, call.builder.add("Unsqueeze", {call.in(0), axis}));
}

void gather(OpCall& call) {
  if (call.integer(option::kGatherBatchDims) != 0) unsupported("batch dimensions");
  call.set(0, call.builder.add("Gather", {call.in(0), call.in(1)},
                               {{"axis", attr::integer(call.integer(option::kGatherAxis))}}));
}

void gather_nd(OpCall& call) {
  const TensorId places = call.builder.cast(call.in(1), ElementType::i64);
  call.set(0, call.builder.add("GatherND", {call.in(0), places}));
}

// DENSIFY, DEQUANTIZE and QUANTIZE are no-ops: constants are dense and quantized tensors are floats
// in the graph.
void unchanged(OpCall& call) { call.set(0, call.in(0)); }

void mirror_pad(OpCall& call) {
  const auto mode = static_cast<MirrorPadMode>(call.byte(option::kMirrorPadMode));
  call.set(0, tensorflow::mirror_pad(call.builder, call.in(0), call.in(1),
                                     mode == MirrorPadMode::symmetric));
}

void pack(OpCall& call) {
  for (size_t i = 0; i < call.op.inputs.size(); ++i) call.in(i);
  call.set(0, tensorflow::stack(call.builder, call.inputs, call.integer(option::kPackAxis)));
}

void pad(OpCall& call) {
  call.set(0, tensorflow::pad(call.builder, call.in(0), call.in(1), call.optional(2)));
}

void reshape(OpCall& call) {
  // Old files have the shape only in the options. In others the options may be stale, so the input
  // takes precedence.
  const TensorId shape =
      call.has(1) ? call.in(1) : call.builder.integers(call.integers(option::kReshapeNewShape));
  call.set(0, tensorflow::reshape(call.builder, call.in(0), shape));
}

void reverse(OpCall& call) {
  const std::vector<int64_t> axes = call.builder.known_integers(call.in(1), "an axis");
  const auto all = [&](int64_t value) {
    return call.builder.integers(std::vector<int64_t>(axes.size(), value));
  };
  call.set(0, call.builder.add("Slice", {call.in(0), all(-1), all(INT64_MIN),
                                         call.builder.integers(axes), all(-1)}));
}

void slice(OpCall& call) {
  call.set(0, tensorflow::slice(call.builder, call.in(0), call.in(1), call.in(2)));
}

void split(OpCall& call) {
  const int64_t axis = known_axis(call, 0);
  call.set_all(call.builder.add_many("Split", {call.in(1)}, call.op.outputs.size(),
                                     {{"axis", attr::integer(axis)}}));
}

// A size of -1 is inferred, from the shape of the output in the file.
void split_sizes(OpCall& call) {
  const int64_t axis = known_axis(call, 2);
  std::vector<int64_t> sizes = call.builder.known_integers(call.in(1), "a list of split sizes");
  if (sizes.size() != call.op.outputs.size()) {
    reject(text(sizes.size(), " split sizes for ", call.op.outputs.size(), " outputs"));
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    const Shape& shape = call.out_info(i).shape;
    const int64_t at = axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis;
    if (sizes[i] >= 0) continue;
    if (at < 0 || at >= static_cast<int64_t>(shape.size())) {
      reject(text("axis ", axis, " is out of range for shape ", to_string(shape)));
    }
    sizes[i] = shape[static_cast<size_t>(at)];
  }
  call.set_all(call.builder.add_many("Split", {call.in(0), call.builder.integers(sizes)},
                                     sizes.size(), {{"axis", attr::integer(axis)}}));
}

void squeeze(OpCall& call) {
  std::vector<TensorId> inputs{call.in(0)};
  const std::vector<int64_t> axes = call.integers(option::kSqueezeDims);
  if (!axes.empty()) inputs.push_back(call.builder.integers(axes));
  call.set(0, call.builder.add("Squeeze", std::move(inputs)));
}

void strided_slice(OpCall& call) {
  if (call.flag(option::kStridedSliceOffset)) unsupported("ends relative to begins");
  const tensorflow::SliceMasks masks{
      .begin = call.integer(option::kStridedSliceBeginMask),
      .end = call.integer(option::kStridedSliceEndMask),
      .ellipsis = call.integer(option::kStridedSliceEllipsisMask),
      .new_axis = call.integer(option::kStridedSliceNewAxisMask),
      .shrink_axis = call.integer(option::kStridedSliceShrinkAxisMask),
  };
  call.set(0, tensorflow::strided_slice(call.builder, call.in(0), call.in(1), call.in(2),
                                        call.in(3), masks));
}

void tile(OpCall& call) {
  const TensorId repeats = call.builder.cast(call.in(1), ElementType::i64);
  call.set(0, call.builder.add("Tile", {call.in(0), repeats}));
}

void transpose(OpCall& call) {
  call.set(0, call.builder.transpose(call.in(0),
                                     call.builder.known_integers(call.in(1), "a permutation")));
}

void unpack(OpCall& call) {
  call.set_all(tensorflow::unstack(call.builder, call.in(0), call.integer(option::kUnpackAxis),
                                   call.op.outputs.size()));
}

}  // namespace

Operators movement_operators() {
  return {
      {"BATCH_TO_SPACE_ND", batch_to_space, Keeps::values},
      {"BROADCAST_TO", broadcast_to, Keeps::values},
      {"CONCATENATION", concatenation, Keeps::values},
      {"DENSIFY", unchanged, Keeps::values},
      {"DEQUANTIZE", unchanged, Keeps::values},
      {"EXPAND_DIMS", expand_dims, Keeps::values},
      {"GATHER", gather, Keeps::values},
      {"GATHER_ND", gather_nd, Keeps::values},
      {"MIRROR_PAD", mirror_pad, Keeps::values},
      {"PACK", pack, Keeps::values},
      {"PAD", pad, Keeps::values},
      {"PADV2", pad, Keeps::values},
      {"QUANTIZE", unchanged, Keeps::values},
      {"RESHAPE", reshape, Keeps::values},
      {"REVERSE_V2", reverse, Keeps::values},
      {"SLICE", slice, Keeps::values},
      {"SPACE_TO_BATCH_ND", space_to_batch, Keeps::values},
      {"SPLIT", split, Keeps::values},
      {"SPLIT_V", split_sizes, Keeps::values},
      {"SQUEEZE", squeeze, Keeps::values},
      {"STRIDED_SLICE", strided_slice, Keeps::values},
      {"TILE", tile, Keeps::values},
      {"TRANSPOSE", transpose, Keeps::values},
      {"UNPACK", unpack, Keeps::values},
  };
}

}  // namespace dala::model::tflite
