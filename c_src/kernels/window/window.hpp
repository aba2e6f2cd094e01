// Kernels of sliding windows: window_sum, window_product, window_max, window_min,
// window_scatter_max and window_scatter_min.
#pragma once

#include "kernels/registry.hpp"

namespace dala {

Descriptors window_kernels();

}  // namespace dala
