// out[i] = BODY(in0[i], ..., p0, ...), CPU family.
//
//   in0..     N_INPUTS inputs of types T0.., broadcast to the output by their strides
//   p0..      N_PARAMS parameters of type T
//   out       layout.count elements of type T
//   layout    see pointwise_args.h
//
// A work-group is one item and owns layout.chunk consecutive elements of the output, split into
// runs along the innermost dimension. The loops over a run are simple enough for the compiler to
// vectorise. Edge rule: the last chunk ends at layout.count. Preconditions: 1 <= rank <= MAX_RANK,
// dims > 0; an input that aliases the output has the output's layout, which makes the iterations
// independent. Operands need no alignment beyond that of an element.
//
// A large output is written with non-temporal stores, see stream_cpu.cl.

#include "kernels/common/kernel.h"
#include "kernels/common/loops.h"
#include "kernels/common/stream_cpu.cl"
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

SINGLE_ITEM_KERNEL void ENTRY(POINTWISE_ARGUMENTS) {
  const long begin = (long)get_group_id(0) * layout.chunk;
  const long end = min(begin + layout.chunk, layout.count);
  if (begin >= end) return;

  const long row_length = layout.dims[0];
  const long s0 = layout.strides[0], s1 = layout.strides[MAX_RANK];
  const long s2 = layout.strides[2 * MAX_RANK], s3 = layout.strides[3 * MAX_RANK];
  bool all_one = true;
  for (int n = 0; n < N_INPUTS; ++n) all_one = all_one && layout.strides[n * MAX_RANK] == 1;

  // The position of the chunk in every dimension, and the offset of its row in each input.
  long position[MAX_RANK];
  long row[MAX_INPUTS] = {0, 0, 0, 0};
  long rest = begin / row_length;
  for (long d = 1; d < layout.rank; ++d) {
    position[d] = rest % layout.dims[d];
    rest /= layout.dims[d];
    for (int n = 0; n < N_INPUTS; ++n) row[n] += position[d] * layout.strides[n * MAX_RANK + d];
  }

  const bool stream = all_one && streams(layout.count * sizeof(T));
  long column = begin % row_length;
  for (long i = begin; i < end;) {
    const long run = min(row_length - column, end - i);
    const long b0 = row[0] + column * s0, b1 = row[1] + column * s1;
    const long b2 = row[2] + column * s2, b3 = row[3] + column * s3;
    if (stream) {
      const long per_block = STREAM_BLOCK / sizeof(T);
      const long skipped = to_next_line(out + i) / sizeof(T);
      long j = 0;
      for (; j < min(skipped, run); ++j) out[i + j] = APPLY(b0 + j, b1 + j, b2 + j, b3 + j);
      for (; j + per_block <= run; j += per_block) {
        T block[STREAM_BLOCK / sizeof(T)] __attribute__((aligned(64)));
        INDEPENDENT_LOOP
        for (int k = 0; k < STREAM_BLOCK / (int)sizeof(T); ++k) {
          block[k] = APPLY(b0 + j + k, b1 + j + k, b2 + j + k, b3 + j + k);
        }
        stream_block(block, out + i + j);
      }
      for (; j < run; ++j) out[i + j] = APPLY(b0 + j, b1 + j, b2 + j, b3 + j);
    } else if (all_one) {
      INDEPENDENT_LOOP
      for (long j = 0; j < run; ++j) out[i + j] = APPLY(b0 + j, b1 + j, b2 + j, b3 + j);
#if N_INPUTS == 2
    } else if (s0 == 1 && s1 == 0) {
      INDEPENDENT_LOOP
      for (long j = 0; j < run; ++j) out[i + j] = APPLY(b0 + j, b1, b2, b3);
    } else if (s0 == 0 && s1 == 1) {
      INDEPENDENT_LOOP
      for (long j = 0; j < run; ++j) out[i + j] = APPLY(b0, b1 + j, b2, b3);
#elif N_INPUTS == 3
    } else if (s0 == 1 && s1 == 1 && s2 == 0) {
      INDEPENDENT_LOOP
      for (long j = 0; j < run; ++j) out[i + j] = APPLY(b0 + j, b1 + j, b2, b3);
    } else if (s0 == 1 && s1 == 0 && s2 == 1) {
      INDEPENDENT_LOOP
      for (long j = 0; j < run; ++j) out[i + j] = APPLY(b0 + j, b1, b2 + j, b3);
    } else if (s0 == 1 && s1 == 0 && s2 == 0) {
      INDEPENDENT_LOOP
      for (long j = 0; j < run; ++j) out[i + j] = APPLY(b0 + j, b1, b2, b3);
    } else if (s0 == 0 && s1 == 1 && s2 == 1) {
      INDEPENDENT_LOOP
      for (long j = 0; j < run; ++j) out[i + j] = APPLY(b0, b1 + j, b2 + j, b3);
#endif
    } else {
      for (long j = 0; j < run; ++j) {
        out[i + j] = APPLY(b0 + j * s0, b1 + j * s1, b2 + j * s2, b3 + j * s3);
      }
    }
    i += run;
    column = 0;
    for (long d = 1; d < layout.rank; ++d) {
      for (int n = 0; n < N_INPUTS; ++n) row[n] += layout.strides[n * MAX_RANK + d];
      if (++position[d] < layout.dims[d]) break;
      position[d] = 0;
      for (int n = 0; n < N_INPUTS; ++n)
        row[n] -= layout.dims[d] * layout.strides[n * MAX_RANK + d];
    }
  }
  if (stream) end_stream();
}

#undef HAS_INPUTS
#undef HAS_PARAMS
