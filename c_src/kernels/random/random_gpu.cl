// Random numbers, GPU family. The contract is that of random_cpu.cl:
// the numbers are the same.
//
// Each item draws one block; adjacent items write adjacent elements. Edge rule: numbers before
// view.offset and past the output are dropped.

#include "kernels/random/draws.cl"

__kernel void NAME(__global T *out, const RandomView view, const PARAM a, const PARAM b,
                   const PARAM c) {
  const long tile =
      view.offset / (RANDOM_LANES * PER_BLOCK) + (long)get_global_id(0) / RANDOM_LANES;
  const int lane = (int)(get_global_id(0) % RANDOM_LANES);
  const long at = tile * RANDOM_LANES * PER_BLOCK - view.offset + lane;
  if (at >= view.count) return;
  const Drawn drawn =
      DRAW(philox((ulong)tile * RANDOM_LANES + lane, view.stream, view.seed), a, b, c);
  for (int j = 0; j < PER_BLOCK; ++j) {
    const long i = at + j * RANDOM_LANES;
    if (i >= 0 && i < view.count) out[i] = drawn.x[j];
  }
}
