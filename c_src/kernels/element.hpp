// Element types as OpenCL C sees them: the macros under which the kernel files are generic.
#pragma once

#include <cstdint>

#include "kernels/planner.hpp"
#include "runtime/memory/tensor_type.hpp"

namespace dala {

// The type in which elements are computed: f32 for f16, bf16 and the parts of c64.
DType computed_type(DType dtype);

// Defines T, the type in which elements are computed, and its properties: UT, WT, T_FLOAT,
// T_SIGNED, T_BITS. T_STORED is the type of elements in memory; FROM_STORED(stored) converts to T,
// TO_STORED(computed) to T_STORED, and STORED_INTEGER(x) a long to T_STORED, with the functions of
// common/narrow_floats.h.
Defines element_defines(DType dtype);

// An integer type of the same size, for kernels that only move elements.
DType carrier(DType dtype);

// A number as the bytes of one element. Integers must be within the type's range.
Value element_value(DType dtype, double number);
Value element_value(DType dtype, int64_t integer);
// The bounds of the type's range; infinities for floats.
Value lowest_value(DType dtype);
Value highest_value(DType dtype);

// The unsigned type of that many bytes, for moving elements of any type.
const char* unsigned_name(size_t bytes);

// The accumulator type of T: the widest of its kind, so that no precision is lost before the end.
// On a device without double precision, floats accumulate in float.
const char* sum_type(DType dtype, bool fp64);

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace dala
