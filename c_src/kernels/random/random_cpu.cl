// Random numbers, CPU family: element e of a sequence is number j of block b, where
// e / (16 * PER_BLOCK) counts tiles of 16 blocks, j and b % 16 being its row and column there.
//
//   out        view.count elements of type T: those from view.offset on
//   view       see random_args.h
//   a, b, c    the parameters of the distribution, see draws.cl
//
//   NAME, DRAW, PARAM   the kernel, what it draws, and the type of a, b and c
//
// A work-group is one item and owns view.chunk tiles. Large outputs use non-temporal stores. Edge
// rule: the first and the last tile may be partly outside.

#include "kernels/common/kernel.h"
#include "kernels/common/stream_cpu.cl"
#include "kernels/random/draws.cl"

#define TILE (RANDOM_LANES * PER_BLOCK)

#ifndef LOOSE_ELEMENTS
#define LOOSE_ELEMENTS
typedef ELEMENTS Loose __attribute__((aligned(sizeof(T))));
#endif

SINGLE_ITEM_KERNEL void NAME(__global T *out, const RandomView view, const PARAM a, const PARAM b,
                             const PARAM c) {
  const ULONGS lanes = (ULONGS)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const long first = view.offset / TILE + (long)get_group_id(0) * view.chunk;
  const long skipped = first * TILE - view.offset;
#ifdef __clang__
  const bool stream =
      streams(view.count * sizeof(T)) && (ulong)(out + skipped) % sizeof(ELEMENTS) == 0;
#else
  const bool stream = false;
#endif
  for (long tile = 0; tile < view.chunk; ++tile) {
    const long at = skipped + tile * TILE;
    if (at >= view.count) break;
    const Drawn drawn = DRAW(philox((ULONGS)(ulong)(first + tile) * (ULONGS)RANDOM_LANES + lanes,
                                    view.stream, view.seed),
                             a, b, c);
    if (at < 0 || at + TILE > view.count) {
      const T *values = (const T *)drawn.x;
      const long end = min((long)TILE, view.count - at);
      for (long i = max(0L, -at); i < end; ++i) out[at + i] = values[i];
#ifdef __clang__
    } else if (stream) {
      for (int j = 0; j < PER_BLOCK; ++j) {
        __builtin_nontemporal_store(drawn.x[j], (__global ELEMENTS *)(out + at + j * RANDOM_LANES));
      }
#endif
    } else {
      for (int j = 0; j < PER_BLOCK; ++j) {
        *(__global Loose *)(out + at + j * RANDOM_LANES) = drawn.x[j];
      }
    }
  }
  if (stream) end_stream();
}
