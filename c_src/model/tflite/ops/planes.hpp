// Convolutions as they are in the file, for those that are found between blocks, too.
#pragma once

#include "model/tflite/ops/call.hpp"

namespace dala::model::tflite {

bool is_depthwise(const OperatorInfo& op);
channels_last::Window convolution_window(const OperatorInfo& op);
// CONV_2D or DEPTHWISE_CONV_2D, perhaps through another window than its own.
TensorId convolution(const Call& call, const channels_last::Window& window);

}  // namespace dala::model::tflite
