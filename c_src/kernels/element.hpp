// Element types as OpenCL C sees them: the macros under which the kernel files are generic.
#pragma once

#include <cstdint>

#include "kernels/planner.hpp"
#include "runtime/tensor_type.hpp"

namespace dala {

// T and what the files ask about it: UT, T_FLOAT, T_SIGNED, T_BITS.
Defines element_defines(DType dtype);

// The unsigned type of that many bytes, to move elements without looking at them.
const char* unsigned_name(size_t bytes);

// The type in which sums and products of T are formed: the widest of its kind, so that nothing is
// lost before the end. Floats of a device without double precision stay floats.
const char* sum_type(DType dtype, bool fp64);

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace dala
