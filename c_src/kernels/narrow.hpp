// Kernels of floats on f16 and bf16: inputs are widened to f32 in scratch memory, the kernel runs
// on those, and its result is rounded once. Sums are formed as those of f32 are.
#pragma once

#include "kernels/registry.hpp"

namespace dala {

// The descriptor with f16 and bf16 wherever it takes f32.
Descriptor with_narrow_floats(Descriptor descriptor);

// Launches name operands by position; the same launch with each operand replaced.
Launch with_operands(Launch launch, const std::function<Operand(Operand)>& replace);

}  // namespace dala
