// A pass of Fourier transforms, CPU family: see fft_args.h.
//
//   from, to   complex numbers as pairs of T: re, im. They may be the same buffer where rest is 1
//   tables     pairs: e^(-2 pi i k / length) for k < length; then, where rest is above 1, the
//              tables of w, see tables.cl
//   turns      pairs w^(lane * j) as [length][2][LANES], where lanes are p; otherwise not read
//   scale      a factor of the results
//   tile       local memory: 2 * length points of LANES transforms
//
// A work-group is one item and owns pass.units tiles. A tile is LANES transforms: they are loaded,
// transposed where a transform's points are neighbours, as vectors that hold a point's real parts
// of all of them and vectors of its imaginary parts; all stages then work on whole vectors with
// scalar factors. The inverse transform is the transform of numbers whose parts are exchanged.
//
// Edge rule: a tile at the end may have fewer transforms; its other lanes repeat the last one, and
// are not stored.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/common/paste.h"
#include "kernels/fft/fft_args.h"
#include "kernels/fft/tables.cl"

#define V PASTE(T, LANES)
#define GENERIC_RADIX 127

typedef V Loose __attribute__((aligned(sizeof(T))));
#define VECTOR_AT(pointer) (*(__global const Loose *)(pointer))
#define TO_VECTOR_AT(pointer) (*(__global Loose *)(pointer))

#define BUFFER __local Loose *
#define TILE_ARGS
#define TILE_VALUES
#define RE(buffer, i) (buffer)[2 * (i)]
#define IM(buffer, i) (buffer)[2 * (i) + 1]
#define BUTTERFLIES(m, s)       \
  for (int p = 0; p < (m); ++p) \
    for (int q = 0; q < (s); ++q)

#include "kernels/fft/tile.cl"

// Interleaves two vectors: their lower halves, and their upper halves.
#if LANES == 16
#define WEAVE_LOW(x, y)                                                                         \
  (V)(x.s0, y.s0, x.s1, y.s1, x.s2, y.s2, x.s3, y.s3, x.s4, y.s4, x.s5, y.s5, x.s6, y.s6, x.s7, \
      y.s7)
#define WEAVE_HIGH(x, y)                                                                        \
  (V)(x.s8, y.s8, x.s9, y.s9, x.sa, y.sa, x.sb, y.sb, x.sc, y.sc, x.sd, y.sd, x.se, y.se, x.sf, \
      y.sf)
#define WEAVES 4
#else
#define WEAVE_LOW(x, y) (V)(x.s0, y.s0, x.s1, y.s1, x.s2, y.s2, x.s3, y.s3)
#define WEAVE_HIGH(x, y) (V)(x.s4, y.s4, x.s5, y.s5, x.s6, y.s6, x.s7, y.s7)
#define WEAVES 3
#endif

// Each weave moves the highest bit of an element's index across all vectors to the lowest; after as
// many weaves as a lane index has bits, rows are columns.
static inline void transpose(V *rows) {
#pragma unroll
  for (int step = 0; step < WEAVES; ++step) {
    V woven[LANES];
#pragma unroll
    for (int i = 0; i < LANES / 2; ++i) {
      woven[2 * i] = WEAVE_LOW(rows[i], rows[i + LANES / 2]);
      woven[2 * i + 1] = WEAVE_HIGH(rows[i], rows[i + LANES / 2]);
    }
#pragma unroll
    for (int i = 0; i < LANES; ++i) rows[i] = woven[i];
  }
}

static inline void load_tile(__global const T *restrict from, const Place at, const int length,
                             const int active, const int swap, BUFFER tile) {
  if (at.lane == 1 && active == LANES) {
    for (int k = 0; k < length; ++k) {
      __global const T *point = from + 2 * (at.begin + k * at.step);
      const V a = VECTOR_AT(point), b = VECTOR_AT(point + LANES);
      tile[2 * k + swap] = (V)(a.even, b.even);
      tile[2 * k + 1 - swap] = (V)(a.odd, b.odd);
    }
    return;
  }
  int k = 0;
  if (at.step == 1) {
    for (; k + LANES / 2 <= length; k += LANES / 2) {
      V rows[LANES];
#pragma unroll
      for (int l = 0; l < LANES; ++l) {
        rows[l] = VECTOR_AT(from + 2 * (at.begin + min(l, active - 1) * at.lane + k));
      }
      transpose(rows);
#pragma unroll
      for (int i = 0; i < LANES / 2; ++i) {
        tile[2 * (k + i) + swap] = rows[2 * i];
        tile[2 * (k + i) + 1 - swap] = rows[2 * i + 1];
      }
    }
  }
  for (; k < length; ++k) {
    T re[LANES], im[LANES];
    for (int l = 0; l < LANES; ++l) {
      const long point = at.begin + min(l, active - 1) * at.lane + k * at.step;
      re[l] = from[2 * point];
      im[l] = from[2 * point + 1];
    }
    tile[2 * k + swap] = *(const Loose *)re;
    tile[2 * k + 1 - swap] = *(const Loose *)im;
  }
}

static inline void store_tile(BUFFER tile, __global T *restrict to, const Place at,
                              const int length, const int active, const int swap, const T scale) {
  if (at.lane == 1 && active == LANES) {
    for (int j = 0; j < length; ++j) {
      __global T *point = to + 2 * (at.begin + j * at.step);
      const V re = tile[2 * j + swap] * scale, im = tile[2 * j + 1 - swap] * scale;
      TO_VECTOR_AT(point) = WEAVE_LOW(re, im);
      TO_VECTOR_AT(point + LANES) = WEAVE_HIGH(re, im);
    }
    return;
  }
  int j = 0;
  if (at.step == 1) {
    for (; j + LANES / 2 <= length; j += LANES / 2) {
      V rows[LANES];
#pragma unroll
      for (int i = 0; i < LANES / 2; ++i) {
        rows[2 * i] = tile[2 * (j + i) + swap] * scale;
        rows[2 * i + 1] = tile[2 * (j + i) + 1 - swap] * scale;
      }
      transpose(rows);
      if (active == LANES) {
#pragma unroll
        for (int l = 0; l < LANES; ++l) {
          TO_VECTOR_AT(to + 2 * (at.begin + l * at.lane + j)) = rows[l];
        }
      } else {
        for (int l = 0; l < active; ++l) {
          TO_VECTOR_AT(to + 2 * (at.begin + l * at.lane + j)) = rows[l];
        }
      }
    }
  }
  for (; j < length; ++j) {
    T re[LANES], im[LANES];
    *(Loose *)re = tile[2 * j + swap] * scale;
    *(Loose *)im = tile[2 * j + 1 - swap] * scale;
    for (int l = 0; l < active; ++l) {
      const long point = at.begin + l * at.lane + j * at.step;
      to[2 * point] = re[l];
      to[2 * point + 1] = im[l];
    }
  }
}

// Multiplies the tile's points by w^(p * j).
static inline void turn_tile(BUFFER tile, __global const T *restrict tables,
                             __global const T *restrict turns, const FftPass pass, const long p) {
  const long whole = pass.length * pass.rest;
  for (int j = 1; j < (int)pass.length; ++j) {
    const T2 root =
        root_of(tables, pass.fine, pass.coarse, pass.fine_bits, (long)((ulong)p * j % whole));
    V c = (V)root.x, d = (V)root.y;
    if (pass.lanes_of == FFT_LANES_P) {
      const V a = VECTOR_AT(turns + 2 * j * LANES), b = VECTOR_AT(turns + (2 * j + 1) * LANES);
      c = fma(a, (V)root.x, -(b * root.y));
      d = fma(a, (V)root.y, b * root.x);
    }
    const V re = tile[2 * j], im = tile[2 * j + 1];
    tile[2 * j] = fma(re, c, -(im * d));
    tile[2 * j + 1] = fma(re, d, im * c);
  }
}

SINGLE_ITEM_KERNEL void fft_pass(__global const T *from, __global T *to,
                                 __global const T *restrict tables,
                                 __global const T *restrict turns, const FftPass pass,
                                 const T scale, __local T *memory) {
  const int length = (int)pass.length;
  const long first = (long)get_group_id(0) * pass.units;
  const long end = min(first + pass.units, pass.tiles);
  for (long t = first; t < end; ++t) {
    BUFFER x = (BUFFER)memory;
    BUFFER y = x + 2 * length;
    const Tile place = tile_at(pass, t);
    load_tile(from, place.from, length, place.active, pass.inverse, x);
    int s = 1;
    for (int stage = 0; stage < pass.stages; ++stage) {
      const int radix = pass.radices[stage];
      stage_of(x, y, tables, length, s, radix);
      BUFFER other = x;
      x = y;
      y = other;
      s *= radix;
    }
    if (pass.rest > 1) turn_tile(x, tables, turns, pass, place.p);
    store_tile(x, to, place.to, length, place.active, pass.inverse, scale);
  }
}

// turns[j][part][lane] = w^(lane * j), for passes whose lanes are p.
SINGLE_ITEM_KERNEL void fft_turns(__global const T *restrict tables, __global T *restrict turns,
                                  const FftPass pass) {
  const long whole = pass.length * pass.rest;
  const long first = (long)get_group_id(0) * pass.units;
  const long end = min(first + pass.units, pass.length);
  for (long j = first; j < end; ++j) {
    for (int l = 0; l < LANES; ++l) {
      const T2 root = root_of(tables, pass.fine, pass.coarse, pass.fine_bits, l * j % whole);
      turns[2 * j * LANES + l] = root.x;
      turns[(2 * j + 1) * LANES + l] = root.y;
    }
  }
}
