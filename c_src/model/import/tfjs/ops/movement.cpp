// Operators that only move elements: reshaping, transposing, slicing, joining, padding.
#include "model/import/tfjs/table.hpp"

namespace dala::model::tfjs {
namespace {

void reshape(OpCall& call) { call.set(tensorflow::reshape(call.builder, call.in(0), call.in(1))); }

void transpose(OpCall& call) {
  call.set(call.builder.transpose(call.in(0), call.integers_of(1, "a permutation")));
}

void squeeze(OpCall& call) {
  std::vector<int64_t> axes = call.node.integers("squeeze_dims");
  if (axes.empty()) axes = call.node.integers("axis");
  std::vector<TensorId> inputs{call.in(0)};
  if (!axes.empty()) inputs.push_back(call.builder.integers(axes));
  call.set(call.builder.add("Squeeze", std::move(inputs)));
}

void expand_dims(OpCall& call) {
  const TensorId axis = call.builder.integers({call.integer_of(1, "an axis")});
  call.set(call.builder.add("Unsqueeze", {call.in(0), axis}));
}

void concat(OpCall& call, size_t axis_at, size_t first) {
  const int64_t axis = call.integer_of(axis_at, "an axis");
  std::vector<TensorId> parts(call.inputs.begin() + static_cast<ptrdiff_t>(first),
                              call.inputs.end() - (first == 0 ? 1 : 0));
  if (parts.empty()) reject("a concatenation of no tensors");
  call.set(call.builder.add("Concat", std::move(parts), {{"axis", attr::integer(axis)}}));
}

void concat_v1(OpCall& call) { concat(call, 0, 1); }

void concat_v2(OpCall& call) {
  call.in(1);
  concat(call, call.inputs.size() - 1, 0);
}

void pack(OpCall& call) {
  call.in(0);
  call.set(tensorflow::stack(call.builder, call.inputs, call.node.integer("axis", 0)));
}

void unpack(OpCall& call) {
  call.outputs = tensorflow::unstack(call.builder, call.in(0), call.node.integer("axis", 0),
                                     call.count_of("num"));
}

void split(OpCall& call) {
  const size_t parts = call.count_of("num_split");
  const int64_t axis = call.integer_of(0, "an axis");
  call.outputs = call.builder.add_many(
      "Split", {call.in(1)}, parts,
      {{"axis", attr::integer(axis)}, {"num_outputs", attr::integer(static_cast<int64_t>(parts))}});
}

// A size of -1 is inferred: parts after it are addressed from the end of the axis.
void split_v(OpCall& call) {
  GraphBuilder& builder = call.builder;
  const std::vector<int64_t> sizes = call.integers_of(1, "a list of split sizes");
  const int64_t axis = call.integer_of(2, "an axis");
  if (sizes.empty() || sizes.size() > 1024) {
    reject(text("a split into ", sizes.size(), " parts, expected 1 to 1024"));
  }
  int64_t after = 0;  // elements after the inferred part
  bool rest = false;
  for (int64_t size : sizes) {
    if (size < -1 || size > (int64_t{1} << 40) || (size == -1 && rest)) {
      reject(text("invalid split sizes ", to_string(sizes)));
    }
    if (rest) after += size;
    rest = rest || size == -1;
  }
  if (!rest) {
    call.outputs = builder.add_many("Split", {call.in(0), builder.integers(sizes)}, sizes.size(),
                                    {{"axis", attr::integer(axis)}});
    return;
  }
  int64_t at = 0;
  bool passed = false;
  for (int64_t size : sizes) {
    const int64_t start = passed ? -after : at;
    if (size == -1) passed = true;
    if (passed && size != -1) after -= size;
    at += size;
    const int64_t stop = !passed ? at : after == 0 ? INT64_MAX : -after;
    call.outputs.push_back(
        builder.add("Slice", {call.in(0), builder.integers({start}), builder.integers({stop}),
                              builder.integers({axis})}));
  }
}

void slice(OpCall& call) {
  call.set(tensorflow::slice(call.builder, call.in(0), call.in(1), call.in(2)));
}

void strided_slice(OpCall& call) {
  tensorflow::SliceMasks masks;
  masks.begin = call.node.integer("begin_mask", 0);
  masks.end = call.node.integer("end_mask", 0);
  masks.ellipsis = call.node.integer("ellipsis_mask", 0);
  masks.new_axis = call.node.integer("new_axis_mask", 0);
  masks.shrink_axis = call.node.integer("shrink_axis_mask", 0);
  call.set(tensorflow::strided_slice(call.builder, call.in(0), call.in(1), call.in(2), call.in(3),
                                     masks));
}

void reverse(OpCall& call) {
  GraphBuilder& builder = call.builder;
  const std::vector<int64_t> axes = call.integers_of(1, "axes");
  const auto every = [&](int64_t value) {
    return builder.integers(std::vector<int64_t>(axes.size(), value));
  };
  call.set(builder.add("Slice", {call.in(0), every(INT64_MAX), every(INT64_MIN),
                                 builder.integers(axes), every(-1)}));
}

void pad(OpCall& call) { call.set(tensorflow::pad(call.builder, call.in(0), call.in(1))); }

void pad_v2(OpCall& call) {
  call.set(tensorflow::pad(call.builder, call.in(0), call.in(1), call.in(2)));
}

void mirror_pad(OpCall& call) {
  const bool symmetric = call.node.text("mode", "REFLECT") == "SYMMETRIC";
  call.set(tensorflow::mirror_pad(call.builder, call.in(0), call.in(1), symmetric));
}

}  // namespace

Operators movement_operators() {
  return {
      {"Concat", concat_v1},
      {"ConcatV2", concat_v2},
      {"ExpandDims", expand_dims},
      {"MirrorPad", mirror_pad},
      {"Pack", pack},
      {"Pad", pad},
      {"PadV2", pad_v2},
      {"Reshape", reshape},
      {"ReverseV2", reverse},
      {"Slice", slice},
      {"Split", split},
      {"SplitV", split_v},
      {"Squeeze", squeeze},
      {"StridedSlice", strided_slice},
      {"Transpose", transpose},
      {"Unpack", unpack},
  };
}

}  // namespace dala::model::tfjs
