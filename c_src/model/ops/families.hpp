// The operator families. Each is a file of this folder that ends with its list.
#pragma once

#include "model/ops/op_call.hpp"

namespace dala::model {

Operators arithmetic_operators();
Operators constant_operators();
Operators control_operators();
Operators convolution_operators();
Operators detection_operators();
Operators determinant_operators();
Operators experimental_operators();
Operators feature_operators();
Operators fourier_operators();
Operators indexing_operators();
Operators linear_operators();
Operators list_operators();
Operators loss_operators();
Operators movement_operators();
Operators normalization_operators();
Operators pooling_operators();
Operators quantization_operators();
Operators recurrent_operators();
Operators reduction_operators();
Operators resize_operators();
Operators selection_operators();
Operators transposed_convolution_operators();

}  // namespace dala::model
