// out[o][k][i] = COMBINE over in[o][0..k][i], CPU family.
//
//   in, out    view.outer * view.axis * view.inner elements of type T
//   partials   the reduction of each segment of the axis, of type PART (computed by reduce_cpu.cl);
//              not read with one segment
//   view       see axis_args.h
//   way        see scan_args.h
//
//   ACC, IDENTITY, COMBINE   type, neutral element and operation of running results
//   ADDS                     1 where COMBINE is a sum
//
// A work-group is one item and owns view.units pieces: a segment of a row when inner is 1,
// otherwise of up to COLUMNS adjacent columns. It starts with the combined partials of the segments
// before. Sums of a row are computed eight elements at a time, so that only one addition in eight
// depends on the previous one; their order does not depend on the device. Large outputs use
// non-temporal stores. Preconditions: in and out are the same buffer or do not overlap.

#include "kernels/common/kernel.h"
#include "kernels/common/loops.h"
#include "kernels/common/paste.h"
#include "kernels/common/stream_cpu.cl"
#include "kernels/reduce/axis.cl"
#include "kernels/reduce/operations.cl"
#include "kernels/scan/scan_args.h"

#if ADDS
#define VECTOR PASTE(ACC, 8)
#define NARROW PASTE(T, 8)

// Converts eight elements to running results and back. Accesses go through a type with the
// alignment of an element, since some compilers split vload and vstore.
#ifdef __clang__
typedef NARROW PASTE(ENTRY, _loose) __attribute__((aligned(sizeof(T))));
#define WIDE_AT(pointer) \
  __builtin_convertvector(*(__global const PASTE(ENTRY, _loose) *)(pointer), VECTOR)
#define STORE_NARROW(x, pointer) \
  *(PASTE(ENTRY, _loose) *)(pointer) = __builtin_convertvector(x, NARROW)
#else
#define WIDE_AT(pointer) PASTE(convert_, VECTOR)(vload8(0, pointer))
#define STORE_NARROW(x, pointer) vstore8(PASTE(convert_, NARROW)(x), 0, pointer)
#endif

// The sums of the first 1 to 8 elements of x.
static inline VECTOR PASTE(ENTRY, _prefixes)(VECTOR x) {
  const ACC zero = (ACC)0;
  x += (VECTOR)(zero, x.s0123, x.s45, x.s6);
  x += (VECTOR)(zero, zero, x.s0123, x.s45);
  x += (VECTOR)(zero, zero, zero, zero, x.s0123);
  return x;
}
#endif

// Scans a run of a row forward, exclusive or inclusive. Returns its final result.
static inline ACC PASTE(ENTRY, _run)(__global const T *in, __global T *out, const long n, ACC sum,
                                     const bool exclusive, const bool stream) {
  long k = 0;
  if (!exclusive) {
#define ONE                       \
  sum = COMBINE(sum, (ACC)in[k]); \
  out[k] = (T)sum;
    if (stream) {
      const long skipped = min(to_next_line(out) / (long)sizeof(T), n);
      for (; k < skipped; ++k) {
        ONE
      }
    }
    const long width = STREAM_BLOCK / sizeof(T);
    for (; k + width <= n; k += width) {
      T block[STREAM_BLOCK / sizeof(T)] __attribute__((aligned(64)));
#if ADDS
      for (int j = 0; j < STREAM_BLOCK / (int)sizeof(T); j += 8) {
        const VECTOR x = PASTE(ENTRY, _prefixes)(WIDE_AT(in + k + j)) + sum;
        STORE_NARROW(x, block + j);
        sum = x.s7;
      }
#else
      for (int j = 0; j < STREAM_BLOCK / (int)sizeof(T); ++j) {
        sum = COMBINE(sum, (ACC)in[k + j]);
        block[j] = (T)sum;
      }
#endif
      if (stream) {
        stream_block(block, out + k);
      } else {
        for (int j = 0; j < STREAM_BLOCK / (int)sizeof(T); ++j) out[k + j] = block[j];
      }
    }
    for (; k < n; ++k) {
      ONE
    }
#undef ONE
    return sum;
  }
  for (; k < n; ++k) {
    const ACC x = (ACC)in[k];
    out[k] = (T)sum;
    sum = COMBINE(sum, x);
  }
  return sum;
}

SINGLE_ITEM_KERNEL void ENTRY(__global const T *in, __global T *out,
                              __global const PART *restrict partials, const AxisView view,
                              const ScanWay way) {
  const bool stream = streams(view.outer * view.axis * view.inner * sizeof(T));
  const long first = (long)get_group_id(0) * view.units;
  const long last = min(first + view.units, pieces_of(view));
  for (long index = first; index < last; ++index) {
    const Piece piece = piece_at(view, index);
    const long segment = piece.start / view.segment;
    ACC sums[COLUMNS];
    for (int j = 0; j < piece.width; ++j) sums[j] = IDENTITY;
    const long before = way.reverse ? segment + 1 : 0;
    const long end = way.reverse ? view.segments : segment;
    for (long s = before; s < end; ++s) {
      __global const PART *from = partials + piece.to + (s - segment) * view.inner;
      for (int j = 0; j < piece.width; ++j) sums[j] = COMBINE(sums[j], (ACC)from[j]);
    }
    if (view.inner == 1 && !way.reverse) {
      PASTE(ENTRY, _run)
      (in + piece.from, out + piece.from, piece.depth, sums[0], way.exclusive != 0, stream);
      continue;
    }
    for (long k = 0; k < piece.depth; ++k) {
      const long row = piece.from + (way.reverse ? piece.depth - 1 - k : k) * view.inner;
      if (way.exclusive) {
        for (int j = 0; j < piece.width; ++j) {
          const ACC x = (ACC)in[row + j];
          out[row + j] = (T)sums[j];
          sums[j] = COMBINE(sums[j], x);
        }
      } else {
        INDEPENDENT_LOOP
        for (int j = 0; j < piece.width; ++j) {
          sums[j] = COMBINE(sums[j], (ACC)in[row + j]);
          out[row + j] = (T)sums[j];
        }
      }
    }
  }
  if (stream) end_stream();
}

#undef VECTOR
#undef NARROW
#undef WIDE_AT
#undef STORE_NARROW
