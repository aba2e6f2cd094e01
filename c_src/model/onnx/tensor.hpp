// Tensors of ONNX files: weights, attributes, and the data of test cases.
#pragma once

#include <string>

#include "model/host_tensor.hpp"
#include "model/onnx/wire.hpp"

namespace dala::model::onnx {

struct NamedTensor {
  std::string name;
  HostTensorPtr tensor;
};

// Reads a TensorProto. Nothing is allocated before the data is seen to be there. `folder` is where
// external data may lie; empty: nowhere. Throws `invalid_model`, or `unsupported_op` for element
// types there are no tensors of.
NamedTensor read_tensor(Bytes message, const std::string& folder);

}  // namespace dala::model::onnx
