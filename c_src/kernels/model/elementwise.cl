// Elementwise arithmetic and comparison, broadcast.
//
//   S         the type in memory; T, see scalar.cl, the type of the computation
//   FIXED_OP  if defined, the only operation that pointwise is compiled for; otherwise the
//   operation
//             is an argument, which costs a branch per element but no compilation per operation
//
// Preconditions: the output overlaps no input.
//
// Private, because one program has all operations of an element type, which small layers need (the
// registry has a program per operation), and because the host compiles it for constant folding.
// Large tensors of floats run on the kernels of the registry: see model/build/primitives.cpp.

#include "kernels/common/loops.h"
#include "kernels/model/scalar.cl"
#include "kernels/model/walk.cl"

#ifdef FIXED_OP
#define WHICH(op) FIXED_OP
#else
#define WHICH(op) (op)
#endif

// out = arithmetic(op, x, y, z). For an operation with fewer inputs, the others are x again.
__kernel void pointwise(__global const S *x, __global const S *y, __global const S *z,
                        __global S *out, const int op, const float p, const float q,
                        const Walk walk) {
  const long end = LAST_OF(walk);
  const long length = walk.dims[0];
  const long sx = STRIDE_OF(walk, 0), sy = STRIDE_OF(walk, 1), sz = STRIDE_OF(walk, 2);
  for (long i = FIRST_OF(walk); i < end;) {
    const long column = i % length, row = i / length;
    const long run = min(length - column, end - i);
    const long ax = row_offset(&walk, 0, row) + column * sx;
    const long ay = row_offset(&walk, 1, row) + column * sy;
    const long az = row_offset(&walk, 2, row) + column * sz;
    if (sx == 1 && sy == 1 && sz == 1) {
      INDEPENDENT_LOOP
      for (long j = 0; j < run; ++j) {
        out[i + j] = (S)arithmetic(WHICH(op), (T)x[ax + j], (T)y[ay + j], (T)z[az + j], (T)p, (T)q);
      }
    } else {
      for (long j = 0; j < run; ++j) {
        out[i + j] = (S)arithmetic(WHICH(op), (T)x[ax + j * sx], (T)y[ay + j * sy],
                                   (T)z[az + j * sz], (T)p, (T)q);
      }
    }
    i += run;
  }
}

// out = comparison(op, x, y), as 0 or 1.
__kernel void compare(__global const S *x, __global const S *y, __global uchar *out, const int op,
                      const float p, const float q, const Walk walk) {
  const long end = LAST_OF(walk);
  const long length = walk.dims[0];
  const long sx = STRIDE_OF(walk, 0), sy = STRIDE_OF(walk, 1);
  for (long i = FIRST_OF(walk); i < end;) {
    const long column = i % length, row = i / length;
    const long run = min(length - column, end - i);
    const long ax = row_offset(&walk, 0, row) + column * sx;
    const long ay = row_offset(&walk, 1, row) + column * sy;
    for (long j = 0; j < run; ++j) {
      out[i + j] = comparison(op, (T)x[ax + j * sx], (T)y[ay + j * sy], (T)p, (T)q) ? 1 : 0;
    }
    i += run;
  }
}

#undef WHICH
