// The linear algebra family.
#pragma once

#include "kernels/registry.hpp"

namespace dala {

Descriptors linalg_kernels();

}  // namespace dala
