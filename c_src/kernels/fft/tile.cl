// Shared by both families: the position of a tile of transforms in memory, and its stages.
//
//   V             the type of a point's part
//   BUFFER        the type of tiles; RE(buffer, i) and IM(buffer, i) are the parts of point i
//   BUTTERFLIES   a loop over the butterflies of a stage, see stage.cl
//   TILE_ARGS, TILE_VALUES   what else the functions take, and what it is called there
#pragma once

#include "kernels/fft/fft_args.h"
#include "kernels/fft/tables.cl"

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

static inline void stage_of(BUFFER x, BUFFER y, __global const T *restrict tables, const int length,
                            const int s, const int radix TILE_ARGS) {
  switch (radix) {
    case 2: stage_2(x, y, tables, length, s, radix TILE_VALUES); break;
    case 3: stage_3(x, y, tables, length, s, radix TILE_VALUES); break;
    case 4: stage_4(x, y, tables, length, s, radix TILE_VALUES); break;
    case 5: stage_5(x, y, tables, length, s, radix TILE_VALUES); break;
    case 7: stage_7(x, y, tables, length, s, radix TILE_VALUES); break;
    case 8: stage_8(x, y, tables, length, s, radix TILE_VALUES); break;
    default: stage_any(x, y, tables, length, s, radix TILE_VALUES);
  }
}

// The position of a tile's transforms: point k of lane l is at begin + l * lane + k * step.
typedef struct Place {
  long begin, lane, step;
} Place;

typedef struct Tile {
  Place from, to;
  long p;      // of the first lane
  int active;  // lanes that have a transform
} Tile;

static inline Tile tile_at(const FftPass pass, const long t) {
  Tile tile;
  long o, q;
  if (pass.lanes_of == FFT_LANES_Q) {
    const long blocks = (pass.stride + LANES - 1) / LANES;
    q = t % blocks * LANES;
    tile.p = t / blocks % pass.rest;
    o = t / blocks / pass.rest;
    tile.active = (int)min((long)LANES, pass.stride - q);
    tile.from.lane = tile.to.lane = 1;
  } else if (pass.lanes_of == FFT_LANES_P) {
    const long blocks = (pass.rest + LANES - 1) / LANES;
    tile.p = t % blocks * LANES;
    q = t / blocks % pass.stride;
    o = t / blocks / pass.stride;
    tile.active = (int)min((long)LANES, pass.rest - tile.p);
    tile.from.lane = pass.stride;
    tile.to.lane = pass.stride * pass.length;
  } else {
    const long blocks = (pass.outer + LANES - 1) / LANES;
    o = t % blocks * LANES;
    q = t / blocks % pass.stride;
    tile.p = t / blocks / pass.stride;
    tile.active = (int)min((long)LANES, pass.outer - o);
    tile.from.lane = tile.to.lane = pass.span;
  }
  tile.from.step = pass.stride * pass.rest;
  tile.to.step = pass.stride;
  tile.from.begin = o * pass.span + q + pass.stride * tile.p;
  tile.to.begin = o * pass.span + q + pass.stride * pass.length * tile.p;
  return tile;
}
