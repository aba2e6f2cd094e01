// Several stages at every position of their outputs, CPU family.
//
//   ENTRY      the kernel's name
//   ARGUMENTS  its arguments: inputs in0.., outputs out0.., parameters p0.., each with a comma
//   PLACE      the stages as statements: they load the inputs, call the stages' functions in order,
//              and store the outputs at position i. NEXT starts another of its N_SECTIONS sections,
//              each of which is a loop of its own here: expensive functions share a loop badly
//   KEEP_VALUES  declares by KEEP(type, name) the values that pass to a later section, where they
//              are KEPT(name)
//   N_WALKED   the number of inputs that broadcast other than as a single value; PLACE uses ROW(n)
//              for the position in the n-th of them if it is contiguous along the innermost
//              dimension, and REPEATED(n) if it repeats along it
//   layout     dimensions of the outputs, innermost first, merged where every such input has one
//              stride; the strides of these inputs
//
// A work-group is one item and owns layout.chunk consecutive positions. Edge rule: the last chunk
// ends at layout.count. Preconditions: 1 <= rank <= MAX_RANK, dims > 0; an input that aliases an
// output is only read at position i, which makes the iterations independent. With several sections,
// the loops process a block of positions at a time, whose values stay in the cache. Operands need
// no alignment beyond that of an element.

#include "kernels/common/fp_contract_off.h"
#include "kernels/common/kernel.h"
#include "kernels/common/loops.h"
#include "kernels/common/paste.h"

#define MAX_RANK 8

typedef struct {
  long count;  // positions
  long chunk;  // positions per work-group
#if N_WALKED > 0
  long rank;
  long dims[MAX_RANK];
  long strides[N_WALKED * MAX_RANK];
#endif
} PASTE(ENTRY, _layout);

SINGLE_ITEM_KERNEL void ENTRY(ARGUMENTS const PASTE(ENTRY, _layout) layout) {
  const long begin = (long)get_group_id(0) * layout.chunk;
  const long end = min(begin + layout.chunk, layout.count);
  if (begin >= end) return;

#define BLOCK 256
#define KEEP(type, name) type name[BLOCK];
#define KEPT(name) name[j]
#define NEXT                       \
  }                                \
  INDEPENDENT_LOOP                 \
  for (long j = 0; j < run; ++j) { \
    const long i = first + j;

  KEEP_VALUES
  const long longest = N_SECTIONS > 1 ? BLOCK : layout.chunk;
#if N_WALKED == 0
  for (long first = begin; first < end; first += longest) {
    const long run = min(longest, end - first);
    INDEPENDENT_LOOP
    for (long j = 0; j < run; ++j) {
      const long i = first + j;
      PLACE
    }
  }
#else
  // The start of the chunk: its position in every dimension, and the offset of its row in each
  // input.
  const long row_length = layout.dims[0];
  long position[MAX_RANK];
  long row[N_WALKED];
  for (int n = 0; n < N_WALKED; ++n) row[n] = 0;
  long rest = begin / row_length;
  for (long d = 1; d < layout.rank; ++d) {
    position[d] = rest % layout.dims[d];
    rest /= layout.dims[d];
    for (int n = 0; n < N_WALKED; ++n) row[n] += position[d] * layout.strides[n * MAX_RANK + d];
  }

#define ROW(n) (row[n] + column + j)
#define REPEATED(n) row[n]
  long column = begin % row_length;
  for (long first = begin; first < end;) {
    const long run = min(min(row_length - column, end - first), longest);
    INDEPENDENT_LOOP
    for (long j = 0; j < run; ++j) {
      const long i = first + j;
      PLACE
    }
    first += run;
    column += run;
    if (column < row_length) continue;
    column = 0;
    for (long d = 1; d < layout.rank; ++d) {
      for (int n = 0; n < N_WALKED; ++n) row[n] += layout.strides[n * MAX_RANK + d];
      if (++position[d] < layout.dims[d]) break;
      position[d] = 0;
      for (int n = 0; n < N_WALKED; ++n)
        row[n] -= layout.dims[d] * layout.strides[n * MAX_RANK + d];
    }
  }
#undef ROW
#undef REPEATED
#endif
}

#undef BLOCK
#undef KEEP
#undef KEPT
#undef NEXT
#undef MAX_RANK
