// a = q r by Householder reflections, for batches of matrices, one work-group per matrix (CPU
// class: several). The diagonal of r is not negative, except in columns that are already zero below
// the diagonal.
//
//   in, out, work   see direct.cl; in and out are of type IO, and T is a wider one where that costs
//                   little
//
// Edge rule: an empty matrix is skipped. Preconditions: nothing overlaps.
#pragma once

#include "kernels/factor/rows.cl"

// The relative norm of a column below the diagonal that counts as rounding error.
#define REST (8 * EPSILON)

// work holds a transposed, so that columns of a are rows, then the diagonal of r. Reflection k is 1
// - 2 v v^T, where v is row k from element k on, with |v| = 1 or v = 0.
FACTOR_KERNEL void qr(__global const IO *restrict in, __global IO *restrict out,
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
      // Scaled, so that squares neither overflow nor underflow.
      if (largest > 0) {
        EACH(i, 0, length) v[i] /= largest;
      }
      JOIN;
      const T first = v[0];
      const T below = dot_rows(v + 1, v + 1, length - 1);
      const T norm = sqrt(fma(first, first, below));
      // A column that is zero below the diagonal within rounding is not reflected. Any other column
      // becomes |column| on the diagonal; the fraction is first - norm without cancellation.
      const bool reflects = !(below <= (REST * norm) * (REST * norm));
      const T head = !reflects ? 0 : first <= 0 ? first - norm : -below / (first + norm);
      const T size = sqrt(fma(head, head, reflects ? below : 0));
      JOIN;
      if (FIRST_ITEM) diagonal[k] = (reflects ? norm : first) * largest;
      EACH(i, 0, length) v[i] = reflects ? (i == 0 ? head : v[i]) / size : 0;
      JOIN;
      if (reflects) {
        EACH(j, k + 1, n) {
          __global T *x = w + j * m + k;
          add_row(x, -2 * dot_rows(v, x, length), v, length);
        }
      }
      JOIN;
    }
    // Column c of q is the unit vector c after all reflections, the last one first. Columns are
    // computed as rows after the diagonal, then transposed.
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
        out[matrix * m * view.extent + i] = (IO)columns[i % view.extent * m + i / view.extent];
      }
    } else {
      EACH(i, 0, view.extent * n) {
        const long row = i / n, column = i % n;
        const bool zero = row > column || row >= least;
        const T element = zero ? 0 : row == column ? diagonal[row] : w[column * m + row];
        out[matrix * view.extent * n + i] = (IO)element;
      }
    }
    JOIN;
  }
}
