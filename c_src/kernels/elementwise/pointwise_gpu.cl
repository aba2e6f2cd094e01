// out[i] = BODY(in0[i], ..., p0, ...), GPU family.
//
//   in0..     N_INPUTS inputs of types T0.., broadcast to the output by their strides
//   p0..      N_PARAMS parameters of type T
//   out       layout.count elements of type T
//   layout    see pointwise_args.h
//
// One work-item per element. Edge rule: items past layout.count do nothing. Preconditions:
// 1 <= rank <= MAX_RANK, dims > 0; an input that aliases the output has the output's layout.

#include "kernels/common/loops.h"
#include "kernels/elementwise/pointwise_layout.cl"

#if N_INPUTS > 0
#define HAS_INPUTS 1
#else
#define HAS_INPUTS 0
#endif
#if N_PARAMS > 0
#define HAS_PARAMS 1
#else
#define HAS_PARAMS 0
#endif

__kernel void ENTRY(POINTWISE_ARGUMENTS) {
  const long i = (long)get_global_id(0);
  if (i >= layout.count) return;

  long at[MAX_INPUTS] = {0, 0, 0, 0};
  long rest = i;
  EACH_DIMENSION(d, layout.rank, MAX_RANK) {
    // The outermost dimension needs no division: the remaining index is within it.
    const bool outermost = d + 1 == layout.rank;
    const long position = outermost ? rest : rest % layout.dims[d];
    if (!outermost) rest /= layout.dims[d];
#pragma unroll
    for (int n = 0; n < N_INPUTS; ++n) at[n] += position * layout.strides[n * MAX_RANK + d];
  }
  out[i] = APPLY(at[0], at[1], at[2], at[3]);
}

#undef HAS_INPUTS
#undef HAS_PARAMS
