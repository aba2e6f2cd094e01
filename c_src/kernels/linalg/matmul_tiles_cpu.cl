// The tile functions of matmul_cpu.cl, of two vectors and, if WIDE is 3, of three: with b packed in
// local memory, with b in place, and with both a transposed a and b in local memory.
#pragma once

#include "kernels/linalg/product.cl"
#include "kernels/linalg/vectors_cpu.cl"

#define A_SPACE __global
#define A_TYPE T

#define SPACE __local
#define NAME tile2_packed
#define VECTORS 2
#include "kernels/linalg/matmul_tile_cpu.cl"
#undef NAME
#undef VECTORS
#if WIDE == 3
#define NAME tile3_packed
#define VECTORS 3
#include "kernels/linalg/matmul_tile_cpu.cl"
#undef NAME
#undef VECTORS
#endif
#undef SPACE

#define SPACE __global
#define NAME tile2_in_place
#define VECTORS 2
#include "kernels/linalg/matmul_tile_cpu.cl"
#undef NAME
#undef VECTORS
#if WIDE == 3
#define NAME tile3_in_place
#define VECTORS 3
#include "kernels/linalg/matmul_tile_cpu.cl"
#undef NAME
#undef VECTORS
#endif
#undef SPACE

#undef A_SPACE
#undef A_TYPE

#define A_SPACE __local
#define A_TYPE ACC
#define SPACE __local
#define NAME tile2_transposed
#define VECTORS 2
#include "kernels/linalg/matmul_tile_cpu.cl"
#undef NAME
#undef VECTORS
#if WIDE == 3
#define NAME tile3_transposed
#define VECTORS 3
#include "kernels/linalg/matmul_tile_cpu.cl"
#undef NAME
#undef VECTORS
#endif
#undef SPACE
#undef A_SPACE
#undef A_TYPE
