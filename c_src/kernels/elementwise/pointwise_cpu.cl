// out[i] = BODY(in0[i], ..., p0, ...), for devices that are CPUs.
//
//   in0..     N_INPUTS inputs of types T0.., broadcast to the output by their strides
//   p0..      N_PARAMS parameters of type T
//   out       layout.count elements of type T
//   layout    see pointwise_layout.cl
//
// A work-group is one item and owns layout.chunk consecutive elements of the output, cut into runs
// along the innermost dimension. The run loops are simple enough for the compiler to vectorise.
// Edge rule: the last chunk ends at layout.count. Preconditions: 1 <= rank <= MAX_RANK, dims > 0;
// an input that shares memory with the output has the output's layout, which is why iterations are
// independent and the loops say so. Nothing is assumed about alignment beyond the element's.
//
// A large output is written past the caches, see stream_cpu.cl.

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

#ifndef INDEPENDENT_LOOP
#ifdef __clang__
#define INDEPENDENT_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT_LOOP
#endif
#endif

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void ENTRY(POINTWISE_ARGUMENTS) {
  const long begin = (long)get_group_id(0) * layout.chunk;
  const long end = min(begin + layout.chunk, layout.count);
  if (begin >= end) return;

  const long row_length = layout.dims[0];
  const long s0 = layout.strides[0][0], s1 = layout.strides[1][0];
  const long s2 = layout.strides[2][0], s3 = layout.strides[3][0];
  bool all_one = true;
  for (int n = 0; n < N_INPUTS; ++n) all_one = all_one && layout.strides[n][0] == 1;

  // Where the chunk begins: a position in every dimension, and per input the offset of its row.
  long position[MAX_RANK];
  long row[MAX_INPUTS] = {0, 0, 0, 0};
  long rest = begin / row_length;
  for (long d = 1; d < layout.rank; ++d) {
    position[d] = rest % layout.dims[d];
    rest /= layout.dims[d];
    for (int n = 0; n < N_INPUTS; ++n) row[n] += position[d] * layout.strides[n][d];
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
#endif
    } else {
      for (long j = 0; j < run; ++j) {
        out[i + j] = APPLY(b0 + j * s0, b1 + j * s1, b2 + j * s2, b3 + j * s3);
      }
    }
    i += run;
    column = 0;
    for (long d = 1; d < layout.rank; ++d) {
      for (int n = 0; n < N_INPUTS; ++n) row[n] += layout.strides[n][d];
      if (++position[d] < layout.dims[d]) break;
      position[d] = 0;
      for (int n = 0; n < N_INPUTS; ++n) row[n] -= layout.dims[d] * layout.strides[n][d];
    }
  }
  if (stream) end_stream();
}

#undef HAS_INPUTS
#undef HAS_PARAMS
