// out[o][s][i] = FINISH(COMBINE over k in segment s of in[o][k][i], total), CPU family.
//
//   in     view.outer * view.axis * view.inner elements of type IN
//   out    view.outer * view.segments * view.inner elements of type OUT
//   view   see axis_args.h
//
//   ACC, IDENTITY, COMBINE  type, neutral element and operation of partial results
//   LANE                    see row_cpu.cl
//   FINISH                  the stored value, from the accumulated value and view.total
//
// A work-group is one item and owns view.units pieces: a row when inner is 1, otherwise up to
// COLUMNS adjacent columns, accumulated side by side along the axis. Edge rules: pieces at the end
// of a dimension are short; the result of an empty axis is IDENTITY. Preconditions: in and out do
// not overlap.

#include "kernels/common/kernel.h"
#include "kernels/common/loops.h"
#include "kernels/common/paste.h"
#include "kernels/reduce/axis.cl"
#include "kernels/reduce/operations.cl"

#define NAME PASTE(row_, ENTRY)
#define SPACE __global
#define MAP(x, center) (x)
#include "kernels/reduce/row_cpu.cl"
#undef NAME
#undef SPACE
#undef MAP

SINGLE_ITEM_KERNEL void ENTRY(__global const IN *restrict in, __global OUT *restrict out,
                              const AxisView view) {
  const long first = (long)get_group_id(0) * view.units;
  const long last = min(first + view.units, pieces_of(view));
  for (long index = first; index < last; ++index) {
    const Piece piece = piece_at(view, index);
    __global const IN *from = in + piece.from;
    __global OUT *to = out + piece.to;
    if (view.inner == 1) {
      *to = (OUT)FINISH(PASTE(row_, ENTRY)(from, piece.depth, (ACC)0), view.total);
      continue;
    }
    ACC results[COLUMNS];
    for (int j = 0; j < piece.width; ++j) results[j] = IDENTITY;
    // Four rows at a time, so that results are loaded and stored a quarter as often.
    long k = 0;
    for (; k + 4 <= piece.depth; k += 4) {
      __global const IN *row1 = from + view.inner, *row2 = row1 + view.inner;
      __global const IN *row3 = row2 + view.inner;
      INDEPENDENT_LOOP
      for (int j = 0; j < piece.width; ++j) {
        const ACC upper = COMBINE(COMBINE(results[j], (ACC)from[j]), (ACC)row1[j]);
        results[j] = COMBINE(COMBINE(upper, (ACC)row2[j]), (ACC)row3[j]);
      }
      from = row3 + view.inner;
    }
    for (; k < piece.depth; ++k, from += view.inner) {
      INDEPENDENT_LOOP
      for (int j = 0; j < piece.width; ++j) results[j] = COMBINE(results[j], (ACC)from[j]);
    }
    for (int j = 0; j < piece.width; ++j) to[j] = (OUT)FINISH(results[j], view.total);
  }
}
