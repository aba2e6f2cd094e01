// The linear algebra family: matmul and dot.
#pragma once

#include "kernels/registry.hpp"

namespace dala {

Descriptors linalg_kernels();

// A contraction of any axes, by the matrix product of plain types.
Descriptor dot_kernel(const Descriptor& matmul);

}  // namespace dala
