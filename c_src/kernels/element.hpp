// Element types as OpenCL C sees them: the macros under which the kernel files are generic.
#pragma once

#include <cstdint>

#include "kernels/planner.hpp"
#include "runtime/tensor_type.hpp"

namespace dala {

// The type in which elements are computed: f32 for f16, bf16 and the parts of c64.
DType computed_type(DType dtype);

// T, the type in which elements are computed, and what the files ask about it: UT, WT, T_FLOAT,
// T_SIGNED, T_BITS. T_STORED is the type of elements in memory, FROM_STORED(stored) a T,
// TO_STORED(computed) a T_STORED, and STORED_INTEGER(x) a T_STORED from a long;
// common/narrow_floats.h has what they call.
Defines element_defines(DType dtype);

// An integer type of the same size, for kernels that only move elements.
DType carrier(DType dtype);

// A number as the bytes of one element. Integers have to be within the type's range.
Value element_value(DType dtype, double number);
Value element_value(DType dtype, int64_t integer);
// The ends of the type's range: infinities of floats.
Value lowest_value(DType dtype);
Value highest_value(DType dtype);

// The unsigned type of that many bytes, to move elements without looking at them.
const char* unsigned_name(size_t bytes);

// The type in which sums and products of T are formed: the widest of its kind, so that nothing is
// lost before the end. Floats of a device without double precision stay floats.
const char* sum_type(DType dtype, bool fp64);

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace dala
