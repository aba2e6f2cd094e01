// What TensorFlow means by operators that any layout has, as nodes of ONNX: shared by the formats
// that come from it. Sizes, axes and paddings are tensors, as they are there; what decides how many
// nodes there are has to be a constant, else `unsupported_op` is thrown.
#pragma once

#include "model/channels_last.hpp"

namespace dala::model::tensorflow {

// A shape with -1 for what is left. A 0 is no element, not, as ONNX has it, the old dimension.
TensorId reshape(GraphBuilder& builder, TensorId x, TensorId shape);
// `paddings` are {rank, 2}: before and after each axis. `value` kNone: zeros.
TensorId pad(GraphBuilder& builder, TensorId x, TensorId paddings, TensorId value = kNone);
// As {rank, 2} too; `symmetric` repeats the edge itself.
TensorId mirror_pad(GraphBuilder& builder, TensorId x, TensorId paddings, bool symmetric);
// Blocks of the axes after the first; `pads` and `crops` are {size of block, 2}.
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
// A size of -1: to the end.
TensorId slice(GraphBuilder& builder, TensorId x, TensorId begin, TensorId size);

// "ReduceMean", "ReduceSum", ...
TensorId reduce(GraphBuilder& builder, const std::string& op, TensorId x, TensorId axes,
                bool keep_dims);
// "ArgMax" or "ArgMin"; the axis is gone.
TensorId arg(GraphBuilder& builder, const std::string& op, TensorId x, TensorId axis,
             ElementType type);
// x * weights + bias, for weights {out, in}; x is seen as rows of `in`, or keeps its other axes.
TensorId fully_connected(GraphBuilder& builder, TensorId x, TensorId weights, TensorId bias,
                         bool keep_dims, const channels_last::Finish& finish);
TensorId stack(GraphBuilder& builder, const std::vector<TensorId>& parts, int64_t axis);
std::vector<TensorId> unstack(GraphBuilder& builder, TensorId x, int64_t axis, size_t parts);

}  // namespace dala::model::tensorflow
