// Conversion between element types, as a pointwise kernel whose input and output types differ.
#pragma once

#include "kernels/descriptor.hpp"

namespace dala {

Descriptor cast_kernel();

// The conversion of input 0 to the output's type, as a step of other launches.
Launch cast_launch(const Call& call, Planner& planner);

}  // namespace dala
