// The reduction family: kernels along one axis, or over a whole buffer.
#pragma once

#include "kernels/registry.hpp"

namespace dala {

Descriptors reduce_kernels();

// Its members with launch plans of their own.
Descriptor argmax_kernel();
Descriptor softmax_kernel();
Descriptor layer_norm_kernel();

}  // namespace dala
