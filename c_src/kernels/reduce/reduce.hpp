// The reduction family: kernels along one axis, or over a whole buffer.
#pragma once

#include "kernels/planner.hpp"
#include "kernels/reduce/axis_args.h"
#include "kernels/registry.hpp"

namespace dala {

Descriptors reduce_kernels();

// Members of the family in separate files.
Descriptor argmax_kernel();
Descriptor argmin_kernel();
Descriptor softmax_kernel();
Descriptor layer_norm_kernel();

// The step that reduces each segment of a view by "sum", "product", "min" or "max", to one partial
// result each: of 8 bytes for sums and products, an element otherwise.
KernelStep partial_step(Planner& planner, const std::string& operation, DType dtype, Operand from,
                        Operand to, const AxisView& view);

}  // namespace dala
