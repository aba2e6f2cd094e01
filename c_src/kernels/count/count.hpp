// Kernels that count elements: bincount and histogram_bins.
#pragma once

#include "kernels/registry.hpp"

namespace dala {

Descriptors count_kernels();

}  // namespace dala
