// The linear algebra family: matmul.
#pragma once

#include "kernels/registry.hpp"

namespace dala {

Descriptors linalg_kernels();

}  // namespace dala
