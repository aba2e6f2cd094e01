// Row sums for layer_norm_cpu.cl: row_sum of x, and row_squares of (x - center)^2.
//
//   T, SUM   element type, a float, and the type of sums
#pragma once

#include "kernels/reduce/operations.cl"

#define IN T
#define ACC SUM
#define SPACE __global
#define IDENTITY 0
#define COMBINE combine_sum

#define NAME row_sum
#define LANE SUM
#define MAP(x, center) (x)
#include "kernels/reduce/row_cpu.cl"
#undef NAME
#undef LANE
#undef MAP

#define NAME row_squares
#define LANE T
#define MAP(x, center) (((x) - (LANE)(center)) * ((x) - (LANE)(center)))
#include "kernels/reduce/row_cpu.cl"
#undef NAME
#undef LANE
#undef MAP

#undef IN
#undef ACC
#undef SPACE
#undef IDENTITY
#undef COMBINE
