// The steps around the passes of a Fourier transform.
//
//   Bluestein's algorithm, for lengths with large prime factors: with c_k = e^(-pi i k^2 / n), the
//   transform is c_j times the convolution of x_k c_k with the conjugates of c, as a product of
//   transforms of a length that has small factors.
//
//     chirp_filter   to[k] = conj c_k, from both ends, zeros between them
//     chirp_in       to[o][k][i] = from[o][k][i] * c_k, and zeros behind it
//     chirp_times    to[o][k][i] *= filter[k]
//     chirp_out      to[o][j][i] = from[o][j][i] * c_j * scale
//
//   Transforms of real numbers:
//
//     real_in        to[o][k][i] = (from[o][k][i], 0)
//     half_out       to[o][j][i] = from[o][j][i] for j <= n / 2
//     half_in        to[o][j][i] = from[o][j][i] for j <= n / 2, and conj from[o][n - j][i] above
//     real_out       to[o][k][i] = re from[o][k][i]
//
//   Transforms of an even number n of neighbouring real numbers are those of n / 2 complex ones,
//   the parts of which are theirs; with w = e^(-2 pi i / n) and z_(n/2) = z_0,
//
//     packed_out     to[o][j] = (z_j + conj z_(n/2-j)) / 2 - i w^j (z_j - conj z_(n/2-j)) / 2
//     packed_in      to[o][j] = (x_j + conj x_(n/2-j)) / 2 + i w^-j (x_j - conj x_(n/2-j)) / 2
//
//   tables   of e^(-pi i / n) for the chirp, of e^(-2 pi i / n) for packed numbers; see tables.cl
//
// The inverse of a transform is that of numbers whose parts are exchanged. On CPUs a work-group is
// one item and owns `chunk` points; elsewhere there is an item per point. Edge rule: nothing is
// written past `count`.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/fft/fft_args.h"
#include "kernels/fft/tables.cl"

#if CPU_CLASS
#define POINTS_KERNEL SINGLE_ITEM_KERNEL
#define EACH_POINT(at, view)                                                                 \
  for (long at = (long)get_group_id(0) * view.chunk, end = min(at + view.chunk, view.count); \
       at < end; ++at)
#else
#define POINTS_KERNEL __kernel
#define EACH_POINT(at, view) \
  for (long at = (long)get_global_id(0); at < view.count; at = view.count)
#endif

static inline T2 chirp_of(__global const T *tables, const FftChirp view, const long k) {
  const ulong square = (ulong)k * (ulong)k % (2 * (ulong)view.length);
  return root_of(tables, view.fine, view.coarse, view.fine_bits, (long)square);
}

POINTS_KERNEL void chirp_filter(__global T *restrict to, __global const T *restrict tables,
                                const FftChirp view) {
  EACH_POINT(at, view) {
    T2 point = (T2)(0, 0);
    const long k = min(at, view.padded - at);
    if (k < view.length) {
      point = chirp_of(tables, view, k);
      point.y = -point.y;
    }
    vstore2(point, at, to);
  }
}

POINTS_KERNEL void chirp_in(__global const T *restrict from, __global T *restrict to,
                            __global const T *restrict tables, const FftChirp view) {
  EACH_POINT(at, view) {
    const long k = at / view.inner % view.padded;
    T2 point = (T2)(0, 0);
    if (k < view.length) {
      const long o = at / view.inner / view.padded;
      point = vload2((o * view.length + k) * view.inner + at % view.inner, from);
      point = times(view.inverse ? point.yx : point, chirp_of(tables, view, k));
    }
    vstore2(point, at, to);
  }
}

POINTS_KERNEL void chirp_times(__global T *restrict to, __global const T *restrict filter,
                               const FftChirp view) {
  EACH_POINT(at, view) {
    const long k = at / view.inner % view.padded;
    vstore2(times(vload2(at, to), vload2(k, filter)), at, to);
  }
}

POINTS_KERNEL void chirp_out(__global const T *restrict from, __global T *restrict to,
                             __global const T *restrict tables, const FftChirp view,
                             const T scale) {
  EACH_POINT(at, view) {
    const long j = at / view.inner % view.length;
    const long o = at / view.inner / view.length;
    const T2 point = times(vload2((o * view.padded + j) * view.inner + at % view.inner, from),
                           chirp_of(tables, view, j)) *
                     scale;
    vstore2(view.inverse ? point.yx : point, at, to);
  }
}

POINTS_KERNEL void real_in(__global const T *restrict from, __global T *restrict to,
                           const FftReal view) {
  EACH_POINT(at, view) vstore2((T2)(from[at], 0), at, to);
}

POINTS_KERNEL void half_out(__global const T *restrict from, __global T *restrict to,
                            const FftReal view) {
  EACH_POINT(at, view) {
    const long j = at / view.inner % view.kept, o = at / view.inner / view.kept;
    vstore2(vload2((o * view.length + j) * view.inner + at % view.inner, from), at, to);
  }
}

POINTS_KERNEL void half_in(__global const T *restrict from, __global T *restrict to,
                           const FftReal view) {
  EACH_POINT(at, view) {
    const long j = at / view.inner % view.length, o = at / view.inner / view.length;
    const long own = j < view.kept ? j : view.length - j;
    T2 point = vload2((o * view.kept + own) * view.inner + at % view.inner, from);
    if (j >= view.kept) point.y = -point.y;
    // The transform of real numbers is real there.
    if (2 * own % view.length == 0) point.y = 0;
    vstore2(point, at, to);
  }
}

POINTS_KERNEL void real_out(__global const T *restrict from, __global T *restrict to,
                            const FftReal view) {
  EACH_POINT(at, view) to[at] = from[2 * at];
}

POINTS_KERNEL void packed_out(__global const T *restrict from, __global T *restrict to,
                              __global const T *restrict tables, const FftReal view) {
  const long half_length = view.kept - 1;
  EACH_POINT(at, view) {
    const long j = at % view.kept, row = at / view.kept * half_length;
    const T2 a = vload2(row + j % half_length, from);
    const T2 b = vload2(row + (half_length - j) % half_length, from);
    const T2 even = (T2)(a.x + b.x, a.y - b.y) * (T)0.5;
    // -i times the difference.
    const T2 odd = (T2)(a.y + b.y, b.x - a.x) * (T)0.5;
    const T2 root = root_of(tables, view.fine, view.coarse, view.fine_bits, j);
    vstore2(even + times(root, odd), at, to);
  }
}

POINTS_KERNEL void packed_in(__global const T *restrict from, __global T *restrict to,
                             __global const T *restrict tables, const FftReal view) {
  const long half_length = view.kept - 1;
  EACH_POINT(at, view) {
    const long j = at % half_length, row = at / half_length * view.kept;
    T2 a = vload2(row + j, from);
    T2 b = vload2(row + half_length - j, from);
    // The transform of real numbers is real there.
    if (j == 0) a.y = b.y = 0;
    const T2 even = (T2)(a.x + b.x, a.y - b.y) * (T)0.5;
    // i times the difference.
    const T2 odd = (T2)(-(a.y + b.y), a.x - b.x) * (T)0.5;
    const T2 root = root_of(tables, view.fine, view.coarse, view.fine_bits, j);
    vstore2(even + times((T2)(root.x, -root.y), odd), at, to);
  }
}
