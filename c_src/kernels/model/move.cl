// Strided copies, selection and gathering. E is an unsigned type of the size of an element.
//
// An index out of range gives an element of all ones: NaN for floats, -1 for integers. The layout
// itself is in range, which the host checks.
//
// Private, because one program per element size serves slices, repeats, padding, concatenation and
// transposes of all small layers, also inside of sequences, because the kernels of the registry
// give 0 for an index out of range, and because the host compiles them for constant folding. Large
// transposes and selections run on the registry.

#include "kernels/model/walk.cl"

#define OUT_OF_RANGE ((E) ~(E)0)

// out[walk] = in[walk], by the strides of both.
static inline void move_elements(__global const E *in, __global E *out, const Walk walk,
                                 const long first, const long end) {
  const long length = walk.dims[0];
  const long from_step = STRIDE_OF(walk, 0), to_step = STRIDE_OF(walk, 3);
  for (long i = first; i < end;) {
    const long column = i % length;
    const long run = min(length - column, end - i);
    const long from = row_offset(&walk, 0, i / length) + column * from_step;
    const long to = row_offset(&walk, 3, i / length) + column * to_step;
    if (from_step == 1 && to_step == 1) {
      for (long j = 0; j < run; ++j) out[to + j] = in[from + j];
    } else {
      for (long j = 0; j < run; ++j) out[to + j * to_step] = in[from + j * from_step];
    }
    i += run;
  }
}
__kernel void move(__global const E *in, __global E *out, const Walk walk) {
  move_elements(in, out, walk, FIRST_OF(walk), LAST_OF(walk));
}

// out = condition ? yes : no, all broadcast.
__kernel void choose(__global const uchar *condition, __global const E *yes, __global const E *no,
                     __global E *out, const Walk walk) {
  const long end = LAST_OF(walk);
  const long length = walk.dims[0];
  for (long i = FIRST_OF(walk); i < end;) {
    const long column = i % length, row = i / length;
    const long run = min(length - column, end - i);
    const long c = row_offset(&walk, 0, row), y = row_offset(&walk, 1, row);
    const long n = row_offset(&walk, 2, row);
    for (long j = 0; j < run; ++j) {
      const long at = column + j;
      out[i + j] = condition[c + at * STRIDE_OF(walk, 0)] != 0 ? yes[y + at * STRIDE_OF(walk, 1)]
                                                               : no[n + at * STRIDE_OF(walk, 2)];
    }
    i += run;
  }
}

// out[o][p][i] = in[o][indices[p]][i]
__kernel void gather(__global const E *in, __global const int *indices, __global E *out,
                     const AxisWalk walk) {
  const long end = LAST_OF(walk);
  for (long i = FIRST_OF(walk); i < end;) {
    const long row = i / walk.inner, column = i % walk.inner;
    const long run = min(walk.inner - column, end - i);
    const long index = index_at(indices, row % walk.picks, walk.wide, walk.axis);
    const long from = (row / walk.picks * walk.axis + max(index, 0L)) * walk.inner + column;
    for (long j = 0; j < run; ++j) out[i + j] = index < 0 ? OUT_OF_RANGE : in[from + j];
    i += run;
  }
}

// out[i..] = in[i.. with indices[i..] in place of the axis]
__kernel void gather_elements(__global const E *in, __global const int *indices, __global E *out,
                              const IndexWalk walk) {
  const long end = LAST_OF(walk);
  const long length = entry_at(walk.rank, walk.dims, walk.axis);
  for (long i = FIRST_OF(walk); i < end; ++i) {
    long from = 0, rest = i;
    const long index = index_at(indices, i, walk.wide, length);
    EACH_DIMENSION(d, walk.rank, MODEL_RANK) {
      const long at = d == walk.axis ? max(index, 0L) : rest % walk.index_dims[d];
      from += at * walk.strides[d];
      rest /= walk.index_dims[d];
    }
    out[i] = index < 0 ? OUT_OF_RANGE : in[from];
  }
}

// out[t][s] = in[indices[t][0], indices[t][1], ...][s], rank numbers per index.
__kernel void gather_nd(__global const E *in, __global const int *indices, __global E *out,
                        const IndexWalk walk) {
  const long end = LAST_OF(walk);
  for (long i = FIRST_OF(walk); i < end; ++i) {
    const long tuple = i / walk.slice;
    long from = tuple / walk.batch_tuples * walk.batch_stride + i % walk.slice;
    bool inside = true;
    EACH_DIMENSION(d, walk.rank, MODEL_RANK) {
      const long index = index_at(indices, tuple * walk.rank + d, walk.wide, walk.dims[d]);
      inside = inside && index >= 0;
      from += max(index, 0L) * walk.strides[d];
    }
    out[i] = inside ? in[from] : OUT_OF_RANGE;
  }
}
