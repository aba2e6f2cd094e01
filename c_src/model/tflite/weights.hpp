// Constants of TFLite files as tensors: halves and quantized integers become floats, sparse ones
// are written out.
#pragma once

#include "model/host_tensor.hpp"
#include "model/tflite/file.hpp"

namespace dala::model::tflite {

// Reads constants until they are out of proportion to the file: tensors can share a buffer, and
// sparse ones can be of any size.
class Weights {
 public:
  explicit Weights(size_t file_bytes);

  // Throws `invalid_model` where data and shape do not fit.
  HostTensorPtr read(const TensorInfo& tensor);

 private:
  size_t left_;
};

// Throws `unsupported_op` for tensors of a type that there is none of here.
void need_readable(const TensorInfo& tensor);

// The type that a tensor has in the graph.
ElementType graph_type(const TensorInfo& tensor);

}  // namespace dala::model::tflite
