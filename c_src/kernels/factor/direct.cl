// Factorizations in a fixed number of steps, of batches of matrices, one work-group per matrix (CPU
// class: several).
//
//   cholesky   a = l l^T: reads the lower triangle; NaN where a is not positive definite
//   lu         p a = l u with row exchanges: the largest element of a column is the pivot
//   qr         a = q r by Householder's reflections
//
//   in      view.batch matrices {rows, columns}, row-major
//   out     the result, see factor_args.h
//   work    scratch: view.work elements per matrix
//
// Edge rule: a matrix without elements is not worked on. Preconditions: nothing overlaps.
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

// In work: the matrix, then the permutation. Row i of the permuted matrix is row order[i] of a.
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

// In work: a transposed, so that its columns are rows; reflection k is 1 - 2 v v^T, |v| = 1, v
// being row k from element k on; then the diagonal of r.
FACTOR_KERNEL void qr(__global const T *restrict in, __global T *restrict out,
                      __global T *restrict work, const FactorView view) {
  const long m = view.rows, n = view.columns, least = min(m, n);
  for (long matrix = FIRST_MATRIX; matrix < LAST_MATRIX; ++matrix) {
    __global T *w = work + matrix * view.work;
    __global T *diagonal = w + m * n;
    EACH(i, 0, m * n) w[i % n * m + i / n] = in[matrix * m * n + i];
    JOIN;
    for (long k = 0; k < least; ++k) {
      __global T *v = w + k * m + k;
      const long length = m - k;
      T largest = 0;
      for (long i = 0; i < length; ++i) largest = fmax(largest, fabs(v[i]));
      JOIN;
      // Scaled, so that squares neither overflow nor vanish.
      if (largest > 0) {
        EACH(i, 0, length) v[i] /= largest;
      }
      JOIN;
      const T first = v[0];
      const T norm = sqrt(dot_rows(v, v, length));
      const T signed_norm = first < 0 ? -norm : norm;
      // |v + sign * norm * e|^2 = 2 norm (norm + |first|)
      const T size = sqrt(2 * norm * (norm + fabs(first)));
      JOIN;
      if (FIRST_ITEM) diagonal[k] = largest > 0 ? -signed_norm * largest : 0;
      if (size > 0) {
        EACH(i, 0, length) v[i] = (i == 0 ? first + signed_norm : v[i]) / size;
      }
      JOIN;
      if (size > 0) {
        EACH(j, k + 1, n) {
          __global T *x = w + j * m + k;
          add_row(x, -2 * dot_rows(v, x, length), v, length);
        }
      }
      JOIN;
    }
    // Column c of q is the reflections, the last one first, of the unit vector c. Columns are
    // formed as rows behind the diagonal, then transposed.
    __global T *columns = diagonal + least;
    EACH(c, 0, view.result == FACTOR_FIRST ? view.extent : 0) {
      __global T *x = columns + c * m;
      for (long i = 0; i < m; ++i) x[i] = i == c ? 1 : 0;
      for (long k = min(c, least - 1); k >= 0; --k) {
        __global T *v = w + k * m + k;
        add_row(x + k, -2 * dot_rows(v, x + k, m - k), v, m - k);
      }
    }
    JOIN;
    if (view.result == FACTOR_FIRST) {
      EACH(i, 0, m * view.extent) {
        out[matrix * m * view.extent + i] = columns[i % view.extent * m + i / view.extent];
      }
    } else {
      EACH(i, 0, view.extent * n) {
        const long row = i / n, column = i % n;
        const bool zero = row > column || row >= least;
        out[matrix * view.extent * n + i] = zero            ? 0
                                            : row == column ? diagonal[row]
                                                            : w[column * m + row];
      }
    }
    JOIN;
  }
}
