// Reads the constants of TFLite files: halves and quantized integers become floats, sparse tensors
// become dense.
#pragma once

#include "model/graph/host_tensor.hpp"
#include "model/import/tflite/file.hpp"

namespace dala::model::tflite {

// Bounds the total size of the constants in proportion to the file: tensors can share a buffer, and
// sparse tensors can have any shape.
class Weights {
 public:
  explicit Weights(size_t file_bytes);

  // Throws `invalid_model` if the data does not fit the shape, or the bound is exceeded.
  HostTensorPtr read(const TensorInfo& tensor);

 private:
  size_t left_;
};

// Throws `unsupported_op` for a tensor of an unsupported element type.
void need_readable(const TensorInfo& tensor);

// The element type of the tensor in the graph.
ElementType graph_type(const TensorInfo& tensor);

}  // namespace dala::model::tflite
