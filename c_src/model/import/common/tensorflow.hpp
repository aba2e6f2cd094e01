// Translates layout-independent TensorFlow operators to nodes of ONNX, for the formats derived from
// TensorFlow. Sizes, axes and paddings are tensors, as in TensorFlow; a tensor that determines
// which nodes are created must be a constant, otherwise `unsupported_op` is thrown.
#pragma once

#include "model/import/common/channels_last.hpp"

namespace dala::model::tensorflow {

// -1 in the shape is inferred. A 0 means no elements; in ONNX it copies the input dimension.
TensorId reshape(GraphBuilder& builder, TensorId x, TensorId shape);
// `paddings` has shape {rank, 2}: before and after each axis. If `value` is kNone, pads with zeros.
TensorId pad(GraphBuilder& builder, TensorId x, TensorId paddings, TensorId value = kNone);
// `paddings` as above; `symmetric` includes the edge element in the reflection.
TensorId mirror_pad(GraphBuilder& builder, TensorId x, TensorId paddings, bool symmetric);
// The blocks span the axes after the first; `pads` and `crops` have shape {rank of block, 2}.
TensorId space_to_batch(GraphBuilder& builder, TensorId x, TensorId block, TensorId pads);
TensorId batch_to_space(GraphBuilder& builder, TensorId x, TensorId block, TensorId crops);

struct SliceMasks {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t ellipsis = 0;
  int64_t new_axis = 0;
  int64_t shrink_axis = 0;
};
TensorId strided_slice(GraphBuilder& builder, TensorId x, TensorId begin, TensorId end,
                       TensorId strides, const SliceMasks& masks);
// A size of -1 means up to the end.
TensorId slice(GraphBuilder& builder, TensorId x, TensorId begin, TensorId size);

// `op` is "ReduceMean", "ReduceSum", ...
TensorId reduce(GraphBuilder& builder, const std::string& op, TensorId x, TensorId axes,
                bool keep_dims);
// `op` is "ArgMax" or "ArgMin"; the axis is removed.
TensorId arg(GraphBuilder& builder, const std::string& op, TensorId x, TensorId axis,
             ElementType type);
// x * transpose(weights) + bias, for weights {out, in}. x is reshaped to rows of `in` elements,
// unless `keep_dims` keeps its other axes.
TensorId fully_connected(GraphBuilder& builder, TensorId x, TensorId weights, TensorId bias,
                         bool keep_dims, const channels_last::Epilogue& epilogue);
TensorId stack(GraphBuilder& builder, const std::vector<TensorId>& parts, int64_t axis);
std::vector<TensorId> unstack(GraphBuilder& builder, TensorId x, int64_t axis, size_t parts);

}  // namespace dala::model::tensorflow
