// The elementwise family: arithmetic, functions, clamp, fill and cast, all pointwise kernels.
#pragma once

#include "kernels/registry.hpp"

namespace dala {

Descriptors elementwise_kernels();

}  // namespace dala
