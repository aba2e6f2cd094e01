// f16 and bf16 for kernels of floats: inputs are widened to f32 in scratch memory, the kernel runs
// on those, and its result is rounded once. Accumulation is that of f32.
#pragma once

#include "kernels/registry.hpp"

namespace dala {

// The descriptor, extended to accept f16 and bf16 wherever it accepts f32.
Descriptor with_narrow_floats(Descriptor descriptor);

// The launch with each operand replaced.
Launch with_operands(Launch launch, const std::function<Operand(Operand)>& replace);

}  // namespace dala
