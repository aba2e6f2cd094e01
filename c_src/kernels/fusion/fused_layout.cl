// What fused kernels of every loop and both device classes share.
//
// Values pass from stage to stage in registers and must be what they would be after a trip through
// memory: the compiler may not contract a product of one stage and a sum of the next into one
// operation. Kernels of a single stage are compiled under the same rule (pointwise_layout.cl).

#pragma OPENCL FP_CONTRACT OFF

#define MAX_RANK 8
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)

#ifdef __clang__
#define INDEPENDENT_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT_LOOP
#endif
