// The table of the supported TFLite operators by name.
#pragma once

#include "model/import/tflite/op_call.hpp"

namespace dala::model::tflite {

const Operator* find_operator(const std::string& name);  // null if not supported
std::vector<std::string> operator_names();               // sorted

// The operator families. Each is a file of this folder that ends with its list.
Operators arithmetic_operators();
Operators comparison_operators();
Operators control_operators();
Operators detection_operators();
Operators movement_operators();
Operators plane_operators();
Operators recurrent_operators();
Operators reduction_operators();
Operators shape_operators();

}  // namespace dala::model::tflite
