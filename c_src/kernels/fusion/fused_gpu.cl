// Several stages at every position of their outputs, GPU family. ENTRY, ARGUMENTS, KEEP_VALUES,
// PLACE, N_WALKED and layout are those of fused_cpu.cl.
//
// One work-item per position, so sections are only scopes. Edge rule: items past layout.count do
// nothing. Preconditions: 1 <= rank <= MAX_RANK, dims > 0; an input that aliases an output is only
// read at position i.

#include "kernels/common/fp_contract_off.h"
#include "kernels/common/loops.h"
#include "kernels/common/paste.h"

#define MAX_RANK 8

typedef struct {
  long count;
  long chunk;  // not used
#if N_WALKED > 0
  long rank;
  long dims[MAX_RANK];
  long strides[N_WALKED * MAX_RANK];
#endif
} PASTE(ENTRY, _layout);

__kernel void ENTRY(ARGUMENTS const PASTE(ENTRY, _layout) layout) {
  const long i = (long)get_global_id(0);
  if (i >= layout.count) return;

#define KEEP(type, name) type name;
#define KEPT(name) name
#define NEXT \
  }          \
  {
  KEEP_VALUES
#if N_WALKED == 0
  { PLACE }
#else
  long at[N_WALKED];
  for (int n = 0; n < N_WALKED; ++n) at[n] = 0;
  long rest = i;
  EACH_DIMENSION(d, layout.rank, MAX_RANK) {
    // The outermost dimension needs no division: the remaining index is within it.
    const bool outermost = d + 1 == layout.rank;
    const long position = outermost ? rest : rest % layout.dims[d];
    if (!outermost) rest /= layout.dims[d];
#pragma unroll
    for (int n = 0; n < N_WALKED; ++n) at[n] += position * layout.strides[n * MAX_RANK + d];
  }
#define ROW(n) at[n]
#define REPEATED(n) at[n]
  { PLACE }
#undef ROW
#undef REPEATED
#endif
}

#undef KEEP
#undef KEPT
#undef NEXT
#undef MAX_RANK
