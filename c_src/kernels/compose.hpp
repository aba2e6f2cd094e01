// Kernels made of others: their launches, one after the other, with scratch memory between them.
#pragma once

#include <vector>

#include "kernels/planner.hpp"
#include "kernels/registry.hpp"

namespace dala {

// Adds scratch memory for a tensor to a launch.
Operand add_scratch(Launch& launch, const TensorType& type);

// Appends a call of another kernel. `sources` and `target` are the operands that it reads and
// writes; missing parameters have their defaults.
void append_call(Launch& launch, Planner& planner, const Descriptor& kernel,
                 const std::vector<TensorType>& inputs, const TensorType& output,
                 const Params& params, const std::vector<Operand>& sources, Operand target);

}  // namespace dala
