// Direct factorizations of batches of matrices, one work-group per matrix (CPU class: several).
//
//   cholesky   a = l l^T: reads the lower triangle; NaN where a is not positive definite
//   lu         p a = l u with row exchanges: the largest element of a column is the pivot
//
//   in      view.batch matrices {rows, columns}, row-major
//   out     the result, see factor_args.h
//   work    scratch: view.work elements per matrix
//
// Edge rule: an empty matrix is skipped. Preconditions: nothing overlaps.
#pragma once

#include "kernels/factor/rows.cl"

FACTOR_KERNEL void cholesky(__global const T *restrict in, __global T *restrict out,
                            const FactorView view) {
  const long n = view.rows;
  for (long matrix = FIRST_MATRIX; matrix < LAST_MATRIX; ++matrix) {
    __global const T *a = in + matrix * n * n;
    __global T *l = out + matrix * n * n;
    for (long j = 0; j < n; ++j) {
      EACH(i, 0, n) { l[i * n + j] = i < j ? 0 : a[i * n + j] - dot_rows(l + i * n, l + j * n, j); }
      JOIN;
      const T root = sqrt(l[j * n + j]);
      JOIN;
      EACH(i, j, n) l[i * n + j] = i == j ? root : l[i * n + j] / root;
      JOIN;
    }
  }
}

// work holds the matrix, then the permutation. Row i of the permuted matrix is row order[i] of a.
FACTOR_KERNEL void lu(__global const T *restrict in, __global T *restrict out,
                      __global int *restrict order_out, __global T *restrict work,
                      const FactorView view) {
  const long m = view.rows, n = view.columns, least = min(m, n);
  for (long matrix = FIRST_MATRIX; matrix < LAST_MATRIX; ++matrix) {
    __global T *a = work + matrix * view.work;
    __global int *order = (__global int *)(a + m * n);
    EACH(i, 0, m * n) a[i] = in[matrix * m * n + i];
    EACH(i, 0, m) order[i] = (int)i;
    JOIN;
    for (long k = 0; k < least; ++k) {
      long pivot = k;
      T most = fabs(a[k * n + k]);
      for (long i = k + 1; i < m; ++i) {
        const T size = fabs(a[i * n + k]);
        if (size > most) {
          most = size;
          pivot = i;
        }
      }
      JOIN;
      if (pivot != k) {
        EACH(c, 0, n) {
          const T x = a[k * n + c];
          a[k * n + c] = a[pivot * n + c];
          a[pivot * n + c] = x;
        }
        if (FIRST_ITEM) {
          const int x = order[k];
          order[k] = order[pivot];
          order[pivot] = x;
        }
      }
      JOIN;
      const T divisor = a[k * n + k];
      EACH(i, k + 1, m) {
        // A column of zeros needs no elimination.
        const T factor = divisor == 0 ? 0 : a[i * n + k] / divisor;
        a[i * n + k] = factor;
        if (factor != 0) add_row(a + i * n + k + 1, -factor, a + k * n + k + 1, n - k - 1);
      }
      JOIN;
    }
    if (view.result == FACTOR_FIRST) {
      EACH(i, 0, m * n) out[matrix * m * n + i] = a[i];
    } else {
      EACH(i, 0, m) order_out[matrix * m + i] = order[i];
    }
    JOIN;
  }
}
