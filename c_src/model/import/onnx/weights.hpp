// Reads tensors of ONNX files: weights, attributes, and the data of test cases.
#pragma once

#include <string>

#include "model/graph/host_tensor.hpp"
#include "model/import/onnx/protobuf.hpp"

namespace dala::model::onnx {

struct NamedTensor {
  std::string name;
  HostTensorPtr tensor;
};

// Reads a TensorProto. The size of the data is checked before the tensor is allocated. `folder` is
// the folder of external data; if empty, external data is rejected. Throws `invalid_model`, or
// `unsupported_op` for an unsupported element type.
NamedTensor read_tensor(Bytes message, const std::string& folder);

}  // namespace dala::model::onnx
