// Convolutions of TFLite files, also for those that are merged with blocks (blocks.hpp).
#pragma once

#include "model/import/tflite/op_call.hpp"

namespace dala::model::tflite {

bool is_depthwise(const OperatorInfo& op);
channels_last::Window convolution_window(const OperatorInfo& op);
// Translates CONV_2D or DEPTHWISE_CONV_2D with the given window, which may differ from its own.
TensorId convolution(const OpCall& call, const channels_last::Window& window);

}  // namespace dala::model::tflite
