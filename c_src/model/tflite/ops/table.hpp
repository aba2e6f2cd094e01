// All operators of TFLite files that there are nodes for, by name.
#pragma once

#include "model/tflite/ops/call.hpp"

namespace dala::model::tflite {

const Operator* find_operator(const std::string& name);  // null: there is none
std::vector<std::string> operator_names();               // sorted

// The lists of the files in this folder.
Operators arithmetic_operators();
Operators comparison_operators();
Operators detection_operators();
Operators movement_operators();
Operators plane_operators();
Operators reduction_operators();
Operators shape_operators();

}  // namespace dala::model::tflite
