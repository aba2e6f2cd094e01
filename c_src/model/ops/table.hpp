// All operators by name.
#pragma once

#include <string>
#include <vector>

#include "model/ops/op_call.hpp"

namespace dala::model {

// Null when there is none of that name.
const Operator* find_operator(const std::string& name);
std::vector<std::string> operator_names();  // sorted

// Throws `unsupported_op` with all operators of a graph that are missing, and their nodes.
void check_operators(const Graph& graph);

}  // namespace dala::model
