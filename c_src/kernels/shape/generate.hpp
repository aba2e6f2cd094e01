// Kernels without inputs: iota and eye.
#pragma once

#include "kernels/registry.hpp"

namespace dala {

Descriptors generate_kernels();

}  // namespace dala
