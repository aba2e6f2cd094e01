// Pointwise kernels from an expression in OpenCL C, such as "x / (1 + exp(-x))".
#pragma once

#include <string>
#include <vector>

#include "kernels/descriptor.hpp"

namespace dala {

// A kernel of that name whose output element is the expression's value. Inputs are named x, y, z
// and w in order, parameters by their names; all have the output's type, f32 or f64. Throws
// `invalid_param` for invalid names, and for text that could be anything but one expression.
// Compile errors are reported when the kernel is built.
Descriptor make_pointwise_expression(const std::string& name, const std::string& expression,
                                     int inputs, const std::vector<std::string>& params);

// The column of the generated function in which the expression starts: for messages of compilers.
int expression_column();

}  // namespace dala
