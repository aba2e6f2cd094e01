// A pass of Fourier transforms, for devices with many narrow processors. The contract is that of
// fft_cpu.cl, without turns.
//
//   LANES, ITEMS   transforms of a tile, and items of a work-group, a multiple of LANES
//   tile           local memory: 2 * length points of LANES transforms, [point][part][lane]
//
// A work-group owns a tile. Items walk over its elements so that neighbours read neighbours, and
// over its butterflies, an item's lane being the same in all stages. Edge rule: lanes past the end
// of the transforms work on zeros, and are not stored; every item reaches every barrier.
#pragma once

#include "kernels/common/paste.h"
#include "kernels/fft/fft_args.h"
#include "kernels/fft/tables.cl"

#define V T
#define GENERIC_RADIX 31

#define BUFFER __local T *
#define TILE_ARGS , const int lane
#define RE(buffer, i) (buffer)[2 * (i)*LANES + lane]
#define IM(buffer, i) (buffer)[(2 * (i) + 1) * LANES + lane]
#define BUTTERFLIES(m, s)                                                             \
  for (int b = (int)get_local_id(0) / LANES, p = b / (s), q = b % (s); b < (m) * (s); \
       b += ITEMS / LANES, p = b / (s), q = b % (s))

#define STAGE stage_2
#define RADIX 2
#include "kernels/fft/stage.cl"
#undef STAGE
#undef RADIX
#define STAGE stage_3
#define RADIX 3
#include "kernels/fft/stage.cl"
#undef STAGE
#undef RADIX
#define STAGE stage_4
#define RADIX 4
#include "kernels/fft/stage.cl"
#undef STAGE
#undef RADIX
#define STAGE stage_5
#define RADIX 5
#include "kernels/fft/stage.cl"
#undef STAGE
#undef RADIX
#define STAGE stage_7
#define RADIX 7
#include "kernels/fft/stage.cl"
#undef STAGE
#undef RADIX
#define STAGE stage_8
#define RADIX 8
#include "kernels/fft/stage.cl"
#undef STAGE
#undef RADIX
#define STAGE stage_any
#define RADIX 0
#include "kernels/fft/stage.cl"
#undef STAGE
#undef RADIX

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void fft_pass(
    __global const T *from, __global T *to, __global const T *restrict tables,
    __global const T *restrict turns, const FftPass pass, const T scale, __local T *memory) {
  const int length = (int)pass.length;
  const int item = (int)get_local_id(0), lane = item % LANES;
  const long t = (long)get_group_id(0);
  BUFFER x = memory;
  BUFFER y = x + 2 * length * LANES;
  long o = 0, p = 0, q = 0, in_lane = 1, out_lane = 1;
  int active = LANES;
  const long in_step = pass.stride * pass.rest, out_step = pass.stride;
  if (pass.lanes_of == FFT_LANES_Q) {
    const long blocks = (pass.stride + LANES - 1) / LANES;
    q = t % blocks * LANES;
    p = t / blocks % pass.rest;
    o = t / blocks / pass.rest;
    active = (int)min((long)LANES, pass.stride - q);
  } else if (pass.lanes_of == FFT_LANES_P) {
    const long blocks = (pass.rest + LANES - 1) / LANES;
    p = t % blocks * LANES;
    q = t / blocks % pass.stride;
    o = t / blocks / pass.stride;
    active = (int)min((long)LANES, pass.rest - p);
    in_lane = pass.stride;
    out_lane = pass.stride * length;
  } else {
    const long blocks = (pass.outer + LANES - 1) / LANES;
    o = t % blocks * LANES;
    q = t / blocks % pass.stride;
    p = t / blocks / pass.stride;
    active = (int)min((long)LANES, pass.outer - o);
    in_lane = out_lane = pass.span;
  }
  const long in = o * pass.span + q + pass.stride * p;
  const long out = o * pass.span + q + pass.stride * length * p;
  const int swap = pass.inverse;

  for (int i = item; i < length * LANES; i += ITEMS) {
    const int l = in_lane == 1 ? i % LANES : i / length;
    const int k = in_lane == 1 ? i / LANES : i % length;
    T2 point = (T2)(0, 0);
    if (l < active) point = vload2(in + l * in_lane + k * in_step, from);
    x[(2 * k + swap) * LANES + l] = point.x;
    x[(2 * k + 1 - swap) * LANES + l] = point.y;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  int s = 1;
  for (int stage = 0; stage < pass.stages; ++stage) {
    const int radix = pass.radices[stage];
    switch (radix) {
      case 2: stage_2(x, y, tables, length, s, radix, lane); break;
      case 3: stage_3(x, y, tables, length, s, radix, lane); break;
      case 4: stage_4(x, y, tables, length, s, radix, lane); break;
      case 5: stage_5(x, y, tables, length, s, radix, lane); break;
      case 7: stage_7(x, y, tables, length, s, radix, lane); break;
      case 8: stage_8(x, y, tables, length, s, radix, lane); break;
      default: stage_any(x, y, tables, length, s, radix, lane);
    }
    BUFFER other = x;
    x = y;
    y = other;
    s *= radix;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const long whole = pass.length * pass.rest;
  for (int i = item; i < length * LANES; i += ITEMS) {
    const int l = out_lane == 1 ? i % LANES : i / length;
    const int j = out_lane == 1 ? i / LANES : i % length;
    if (l >= active) continue;
    T2 point = (T2)(x[2 * j * LANES + l], x[(2 * j + 1) * LANES + l]);
    if (pass.rest > 1) {
      const ulong own = (ulong)(pass.lanes_of == FFT_LANES_P ? p + l : p);
      point = times(point, root_of(tables, pass.fine, pass.coarse, pass.fine_bits,
                                   (long)(own * (ulong)j % (ulong)whole)));
    }
    point *= scale;
    vstore2(swap ? point.yx : point, out + l * out_lane + j * out_step, to);
  }
}
