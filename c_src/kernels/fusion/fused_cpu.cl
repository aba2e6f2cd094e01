// Several stages at every place of their outputs, for devices that are CPUs.
//
//   ENTRY      the kernel's name
//   ARGUMENTS  its arguments: inputs in0.., outputs out0.., parameters p0.., each with a comma
//   PLACE      the stages as statements: inputs are loaded, one after the other the stages'
//              functions are called, then outputs are stored at the place i. NEXT begins another
//              of its N_SECTIONS sections, which are loops of their own here: long functions share
//              a loop badly
//   KEEP_VALUES  declares by KEEP(type, name) what passes from a section to a later one, where it
//              is KEPT(name)
//   N_WALKED   how many inputs broadcast other than as a single value; PLACE says ROW(n) for the
//              place in the n-th of them if it is contiguous along the innermost dimension, and
//              REPEATED(n) if it repeats along it
//   layout     dimensions of the outputs, innermost first, merged where every walked input goes
//              through them in one stride; the strides of the walked inputs
//
// A work-group is one item and owns layout.chunk consecutive places. Edge rule: the last chunk ends
// at layout.count. Preconditions: 1 <= rank <= MAX_RANK, dims > 0; an input that shares memory with
// an output is read at the place i only, which is why iterations are independent and the loops say
// so. With several sections they do a block of places at a time, whose values stay in the cache.
// Nothing is assumed about alignment beyond the element's.

#include "kernels/common/fp_contract_off.h"
#include "kernels/common/kernel.h"
#include "kernels/common/loops.h"
#include "kernels/common/paste.h"

#define MAX_RANK 8

typedef struct {
  long count;  // places
  long chunk;  // places per work-group
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
  // Where the chunk begins: a position in every dimension, and per input the offset of its row.
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
