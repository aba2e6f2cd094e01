// Conversion between element types, as a pointwise kernel whose input and output types differ.
#pragma once

#include "kernels/descriptor.hpp"

namespace dala {

Descriptor cast_kernel();

}  // namespace dala
