// All operators of TF.js models that are there, by name.
#pragma once

#include "model/tfjs/op_call.hpp"

namespace dala::model::tfjs {

// The families, each a file that ends with its list.
Operators arithmetic_operators();
Operators indexing_operators();
Operators matrix_operators();
Operators movement_operators();
Operators plane_operators();
Operators reduction_operators();

const Operator* find_operator(const std::string& name);  // null: not supported
std::vector<std::string> operator_names();

}  // namespace dala::model::tfjs
