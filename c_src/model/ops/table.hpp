// The table of all operators by name.
#pragma once

#include <string>
#include <vector>

#include "model/ops/op_call.hpp"

namespace dala::model {

// Null if there is no operator of that name.
const Operator* find_operator(const std::string& name);
std::vector<std::string> operator_names();  // sorted

// Throws `unsupported_op` with a list of all unsupported operators of the graph and their nodes.
void check_operators(const Graph& graph);

}  // namespace dala::model
