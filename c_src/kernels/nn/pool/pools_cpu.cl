// Pooling in the CPU family: the largest element of a window and, for floats, the mean; in the NCHW
// and in the NHWC layout.
#pragma once

#define ENTRY max_pool2d
#define ACC T
#define IDENTITY LOWEST
#define COMBINE combine_max
#define FINISH KEEP
#include "kernels/nn/pool/pool_cpu.cl"
#undef ENTRY
#undef ACC
#undef IDENTITY
#undef COMBINE
#undef FINISH

#if T_FLOAT
#define ENTRY avg_pool2d
#define ACC SUM
#define IDENTITY 0
#define COMBINE combine_sum
#define FINISH AVERAGE_AS_REAL
#include "kernels/nn/pool/pool_cpu.cl"
#undef ENTRY
#undef ACC
#undef IDENTITY
#undef COMBINE
#undef FINISH
#endif

#define ENTRY max_pool2d_nhwc
#define ACC T
#define IDENTITY LOWEST
#define COMBINE combine_max
#define FINISH KEEP
#include "kernels/nn/pool/pool_nhwc_cpu.cl"
#undef ENTRY
#undef ACC
#undef IDENTITY
#undef COMBINE
#undef FINISH

#if T_FLOAT
#define ENTRY avg_pool2d_nhwc
#define ACC SUM
#define IDENTITY 0
#define COMBINE combine_sum
#define FINISH AVERAGE_AS_REAL
#include "kernels/nn/pool/pool_nhwc_cpu.cl"
#undef ENTRY
#undef ACC
#undef IDENTITY
#undef COMBINE
#undef FINISH
#endif
