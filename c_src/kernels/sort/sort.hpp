// Sorting along an axis: sort, argsort and top_k; unique.
#pragma once

#include "kernels/registry.hpp"

namespace dala {

Descriptors sort_kernels();

// Distinct elements, by the kernel that sorts.
Descriptor unique_kernel(const Descriptor& sort);

}  // namespace dala
