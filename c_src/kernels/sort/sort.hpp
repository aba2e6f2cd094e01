// Sorting along an axis: sort, argsort and top_k.
#pragma once

#include "kernels/registry.hpp"

namespace dala {

Descriptors sort_kernels();

}  // namespace dala
