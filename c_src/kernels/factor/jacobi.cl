// Eigenvalues of symmetric matrices and singular values by Jacobi rotations, for batches of
// matrices, one work-group per matrix (CPU class: several).
//
//   eigh   a = v diag(values) v^T, values ascending: rows and columns are rotated until all other
//          elements vanish; reads both triangles as their mean
//   svd    a = u diag(values) v^T, values descending: the columns of a are rotated until they are
//          orthogonal, their lengths being the values
//
//   in, out, work   see direct.cl; in and out are of type IO, and T is a wider one where the device
//                   has it, since every element goes through very many rotations
//
// The rotations of a tournament round share no row, so they run in parallel. Edge rule: with an odd
// number of rows, one row has a bye in each round.
#pragma once

#include "kernels/factor/rows.cl"

// Sorts n values by rank, counting the values in front: order[rank] = index.
static inline void rank_values(__global const T *values, __global int *order, const long n,
                               const bool descending) {
  // NaN has no rank, so every entry starts as a valid index.
  EACH(i, 0, n) order[i] = (int)i;
  JOIN;
  EACH(i, 0, n) {
    long rank = 0;
    const T x = values[i];
    for (long k = 0; k < n; ++k) {
      const T y = values[k];
      const bool before = descending ? y > x : y < x;
      // Equal and unordered values keep their order.
      const bool behind = descending ? y < x : y > x;
      rank += before || (!behind && k < i) ? 1 : 0;
    }
    order[min(rank, n - 1)] = (int)i;
  }
}

// work holds a, v transposed, the values, the cosines and sines of a round, and the order.
FACTOR_KERNEL void eigh(__global const IO *restrict in, __global IO *restrict out,
                        __global T *restrict work, const FactorView view) {
  __local int turned;
  const long n = view.rows;
  const int players = (int)(n + n % 2);
  for (long matrix = FIRST_MATRIX; matrix < LAST_MATRIX; ++matrix) {
    __global const IO *given = in + matrix * n * n;
    __global T *a = work + matrix * view.work;
    __global T *v = a + n * n;
    __global T *values = v + n * n;
    __global T *cosines = values + n;
    __global T *sines = cosines + n;
    __global int *order = (__global int *)(sines + n);
    EACH(i, 0, n * n) {
      const long row = i / n, column = i % n;
      a[i] = (T)0.5 * (T)given[i] + (T)0.5 * (T)given[column * n + row];
      v[i] = row == column ? 1 : 0;
    }
    JOIN;
    T norm = 0;
    for (long i = 0; i < n; ++i) norm += dot_rows(a + i * n, a + i * n, n);
    norm = sqrt(norm);
    // A matrix with NaN or infinity gives NaN.
    const T valid = norm < INFINITY ? 1 : NAN;
    for (int sweep = 0; sweep < MOST_SWEEPS; ++sweep) {
      if (FIRST_ITEM) turned = 0;
      JOIN;
      for (int round = 0; round < players - 1; ++round) {
        EACH(i, 0, players / 2) {
          int p, q;
          pair_of(players, round, (int)i, &p, &q);
          T c = 1, s = 0;
          if (q < n) {
            const T g = a[p * n + q];
            // Elements below the rounding errors of the diagonal and the matrix are not rotated.
            const T bound = EPSILON * (T)0.25 *
                            fmax(fmin(fabs(a[p * n + p]), fabs(a[q * n + q])), EPSILON * norm);
            if (fabs(g) > bound && fabs(g) > SMALLEST) {
              rotation(a[p * n + p], a[q * n + q], g, &c, &s);
              atomic_or(&turned, 1);
            }
          }
          cosines[i] = c;
          sines[i] = s;
        }
        JOIN;
        EACH(i, 0, players / 2) {
          int p, q;
          pair_of(players, round, (int)i, &p, &q);
          if (q < n && sines[i] != 0) {
            rotate_rows(a + p * n, a + q * n, cosines[i], sines[i], n);
            rotate_rows(v + p * n, v + q * n, cosines[i], sines[i], n);
          }
        }
        JOIN;
        EACH(row, 0, n) {
          __global T *x = a + row * n;
          for (int i = 0; i < players / 2; ++i) {
            int p, q;
            pair_of(players, round, i, &p, &q);
            if (q >= n || sines[i] == 0) continue;
            const T c = cosines[i], s = sines[i], xp = x[p], xq = x[q];
            x[p] = xp * c - xq * s;
            x[q] = xp * s + xq * c;
          }
        }
        JOIN;
      }
      const int ends = turned == 0;
      JOIN;
      if (ends) break;
    }
    EACH(i, 0, n) values[i] = a[i * n + i];
    JOIN;
    rank_values(values, order, n, false);
    JOIN;
    const long before = view.result == FACTOR_SECOND ? 0 : 1;
    __global IO *to = out + matrix * (view.result == FACTOR_FIRST    ? n
                                      : view.result == FACTOR_SECOND ? n * n
                                                                     : (n + 1) * n);
    if (before == 1) {
      EACH(i, 0, n) to[i] = (IO)(values[order[i]] * valid);
    }
    if (view.result != FACTOR_FIRST) {
      EACH(i, 0, n * n) to[before * n + i] = (IO)(v[order[i % n] * n + i / n] * valid);
    }
    JOIN;
  }
}

// Completes rows `from` to `end` of w, of `length` elements, such that all rows up to `end` are
// orthonormal: each is a standard basis vector minus its projections on the rows before. Some basis
// vector keeps at least the share (length - row) / length of its squared norm.
static inline void complete(__global T *w, const long row, const long length) {
  __global T *x = w + row * length;
  for (long unit = 0; unit < length; ++unit) {
    for (long k = 0; k < length; ++k) x[k] = k == unit ? 1 : 0;
    for (int twice = 0; twice < 2; ++twice) {
      for (long r = 0; r < row; ++r) {
        add_row(x, -dot_rows(w + r * length, x, length), w + r * length, length);
      }
    }
    const T square = dot_rows(x, x, length);
    if (square * length < (T)0.5 * (length - row)) continue;
    const T norm = sqrt(square);
    for (long k = 0; k < length; ++k) x[k] /= norm;
    return;
  }
}

// With s = min(rows, columns) and l the larger of them, work holds: w, the rotated rows or columns
// of a, as s rows of l elements; z, the accumulated rotations, s rows of s; the values; w sorted,
// with as many rows of l elements as the result has, where additional rows are orthogonal to the
// others; z sorted; and the order.
FACTOR_KERNEL void svd(__global const IO *restrict in, __global IO *restrict out,
                       __global T *restrict work, const FactorView view) {
  __local int turned;
  const long m = view.rows, n = view.columns;
  const int wide = m < n;
  const long s = min(m, n), l = max(m, n);
  const int players = (int)(s + s % 2);
  for (long matrix = FIRST_MATRIX; matrix < LAST_MATRIX; ++matrix) {
    __global const IO *a = in + matrix * m * n;
    __global T *w = work + matrix * view.work;
    __global T *z = w + s * l;
    __global T *values = z + s * s;
    __global T *long_vectors = values + s;
    __global T *short_vectors = long_vectors + max((long)view.extent, s) * l;
    __global int *order = (__global int *)(short_vectors + s * s);
    // Matrices whose squares would overflow or underflow are scaled.
    T largest = 0, valid = 1;
    for (long i = 0; i < m * n; ++i) {
      const T size = fabs((T)a[i]);
      largest = fmax(largest, size);
      if (!(size < INFINITY)) valid = NAN;
    }
    const T scale = largest > 0 ? largest : 1;
    EACH(i, 0, s * l) w[i] = (T)(wide ? a[i] : a[i % l * n + i / l]) / scale;
    EACH(i, 0, s * s) z[i] = i / s == i % s ? 1 : 0;
    JOIN;
    for (int sweep = 0; sweep < MOST_SWEEPS; ++sweep) {
      if (FIRST_ITEM) turned = 0;
      JOIN;
      for (int round = 0; round < players - 1; ++round) {
        EACH(i, 0, players / 2) {
          int p, q;
          pair_of(players, round, (int)i, &p, &q);
          if (q >= s) continue;
          __global T *x = w + p * l;
          __global T *y = w + q * l;
          const T xx = dot_rows(x, x, l), yy = dot_rows(y, y, l), xy = dot_rows(x, y, l);
          if (!(fabs(xy) > EPSILON * sqrt(xx) * sqrt(yy)) || fabs(xy) <= SMALLEST) continue;
          T cosine, sine;
          rotation(xx, yy, xy, &cosine, &sine);
          if (sine == 0) continue;
          atomic_or(&turned, 1);
          rotate_rows(x, y, cosine, sine, l);
          rotate_rows(z + p * s, z + q * s, cosine, sine, s);
        }
        JOIN;
      }
      const int ends = turned == 0;
      JOIN;
      if (ends) break;
    }
    EACH(i, 0, s) values[i] = sqrt(dot_rows(w + i * l, w + i * l, l));
    JOIN;
    rank_values(values, order, s, true);
    JOIN;
    if (view.result == FACTOR_FIRST) {
      EACH(i, 0, s) out[matrix * s + i] = (IO)(values[order[i]] * scale * valid);
    }
    EACH(i, 0, s * s) short_vectors[i] = z[order[i / s] * s + i % s];
    // Values that are 0 within rounding have no singular vector of their own.
    const T least = s > 0 ? values[order[0]] * EPSILON * l : 0;
    long certain = 0;
    while (certain < s && values[order[certain]] > least) ++certain;
    EACH(i, 0, certain * l) {
      long_vectors[i] = w[order[i / l] * l + i % l] / values[order[i / l]];
    }
    JOIN;
    const int long_one = (view.result == FACTOR_SECOND) != wide;
    if (view.result != FACTOR_FIRST && long_one && FIRST_ITEM) {
      for (long row = certain; row < view.extent; ++row) complete(long_vectors, row, l);
    }
    JOIN;
    // u {m, extent} has vectors as columns, v transposed {extent, n} as rows.
    const long length = long_one ? l : s;
    const long count = view.result == FACTOR_FIRST ? 0 : view.extent;
    EACH(i, 0, length * count) {
      const long k = view.result == FACTOR_SECOND ? i % count * length + i / count : i;
      out[matrix * length * count + i] =
          (IO)((long_one ? long_vectors[k] : short_vectors[k]) * valid);
    }
    JOIN;
  }
}
