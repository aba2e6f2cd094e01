// The shape family: kernels that move elements and do not compute with them.
#pragma once

#include "kernels/registry.hpp"

namespace dala {

Descriptors shape_kernels();

Descriptor transpose_kernel();

}  // namespace dala
