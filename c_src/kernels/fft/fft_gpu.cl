// A pass of Fourier transforms, GPU family. The contract is that of
// fft_cpu.cl, without turns.
//
//   LANES, ITEMS   transforms of a tile, and items of a work-group, a multiple of LANES
//   tile           local memory: 2 * length points of LANES transforms, [point][part][lane]
//
// A work-group owns a tile. Items walk over its elements so that neighbours read neighbours, and
// over its butterflies, an item's lane being the same in all stages. Edge rule: lanes past the end
// of the transforms work on zeros, and are not stored; every item reaches every barrier.
#pragma once

#include "kernels/common/loops.h"
#include "kernels/common/paste.h"
#include "kernels/fft/fft_args.h"
#include "kernels/fft/tables.cl"

#define V T
#define GENERIC_RADIX 31

#define BUFFER __local T *
#define TILE_ARGS , const int lane
#define TILE_VALUES , lane
#define RE(buffer, i) (buffer)[2 * (i)*LANES + lane]
#define IM(buffer, i) (buffer)[(2 * (i) + 1) * LANES + lane]
#define BUTTERFLIES(m, s)                                                             \
  for (int b = (int)get_local_id(0) / LANES, p = b / (s), q = b % (s); b < (m) * (s); \
       b += ITEMS / LANES, p = b / (s), q = b % (s))

#include "kernels/fft/tile.cl"

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void fft_pass(
    __global const T *from, __global T *to, __global const T *restrict tables,
    __global const T *restrict turns, const FftPass pass, const T scale, __local T *memory) {
  const int length = (int)pass.length;
  const int item = (int)get_local_id(0), lane = item % LANES;
  const long t = (long)get_group_id(0);
  BUFFER x = memory;
  BUFFER y = x + 2 * length * LANES;
  const Tile place = tile_at(pass, t);
  const int swap = pass.inverse;

  for (int i = item; i < length * LANES; i += ITEMS) {
    const int l = place.from.lane == 1 ? i % LANES : i / length;
    const int k = place.from.lane == 1 ? i / LANES : i % length;
    T2 point = (T2)(0, 0);
    if (l < place.active)
      point = vload2(place.from.begin + l * place.from.lane + k * place.from.step, from);
    x[(2 * k + swap) * LANES + l] = point.x;
    x[(2 * k + 1 - swap) * LANES + l] = point.y;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  int s = 1;
  for (int stage = 0; stage < pass.stages; ++stage) {
    int radix = 1;
    EACH_DIMENSION(d, pass.stages, FFT_MOST_STAGES) {
      radix = d == stage ? pass.radices[d] : radix;
    }
    stage_of(x, y, tables, length, s, radix, lane);
    BUFFER other = x;
    x = y;
    y = other;
    s *= radix;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const long whole = pass.length * pass.rest;
  for (int i = item; i < length * LANES; i += ITEMS) {
    const int l = place.to.lane == 1 ? i % LANES : i / length;
    const int j = place.to.lane == 1 ? i / LANES : i % length;
    if (l >= place.active) continue;
    T2 point = (T2)(x[2 * j * LANES + l], x[(2 * j + 1) * LANES + l]);
    if (pass.rest > 1) {
      const ulong own = (ulong)(pass.lanes_of == FFT_LANES_P ? place.p + l : place.p);
      point = times(point, root_of(tables, pass.fine, pass.coarse, pass.fine_bits,
                                   (long)(own * (ulong)j % (ulong)whole)));
    }
    point *= scale;
    vstore2(swap ? point.yx : point, place.to.begin + l * place.to.lane + j * place.to.step, to);
  }
}
