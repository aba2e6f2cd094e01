// Kernels that move boxes of elements.
#pragma once

#include "kernels/registry.hpp"

namespace dala {

Descriptors move_kernels();

}  // namespace dala
