// The table of the supported TF.js operators by name.
#pragma once

#include "model/import/tfjs/op_call.hpp"

namespace dala::model::tfjs {

// The operator families. Each is a file in ops/ that ends with its list.
Operators arithmetic_operators();
Operators indexing_operators();
Operators list_operators();
Operators matrix_operators();
Operators movement_operators();
Operators plane_operators();
Operators reduction_operators();

const Operator* find_operator(const std::string& name);  // null if not supported
std::vector<std::string> operator_names();

}  // namespace dala::model::tfjs
