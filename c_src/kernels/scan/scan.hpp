// Cumulative kernels along an axis.
#pragma once

#include "kernels/registry.hpp"

namespace dala {

Descriptors scan_kernels();

}  // namespace dala
