// Colours looked up in a table, with linear interpolation between its entries.
//
//   in, out    pixels of CHANNELS elements of type T: 3, or 4 with alpha, which is kept
//   table      cube: size^3 entries {r, g, b}, red changing fastest; otherwise size entries, with a
//              column per channel
//   view       see lookup_args.h
//
// Each item owns `chunk` pixels: many in the CPU family, one in the GPU family. Edge rule: the last
// chunk ends at count. out may be in.

#include "kernels/image/colour/lookup.cl"
#include "kernels/image/pixels/pixels.cl"

#if T_FLOAT
#define LOADED(element) (element)
#define STORED(real) (real)
#else
#define LOADED(element) ((float)(element) * (1.0f / 255.0f))
#define STORED(real) (T)(int) clamp((real)*255.0f + HALF, 0.0f, 255.0f)
#endif

__kernel void ENTRY(__global const T *in, __global const float *table, __global T *out,
                    const Lookup view) {
  const long begin = (long)get_global_id(0) * view.chunk;
  const long end = min(begin + view.chunk, view.count);
  const float last = (float)(view.size - 1);
  const int size = (int)view.size;
  __global const float *last_entry = table + 3L * (size * size * (long)size - 1);
  for (long i = begin; i < end; ++i) {
    int low[3], next[3];
    float t[3];
    for (int c = 0; c < 3; ++c) {
      // The order of the comparisons also clamps NaN.
      const float place = fma(LOADED(in[i * CHANNELS + c]), view.scale[c], view.added[c]);
      const float inside = place > 0.0f ? (place < last ? place : last) : 0.0f;
      low[c] = (int)inside;
      next[c] = low[c] + 1 < size ? 1 : 0;
      t[c] = inside - (float)low[c];
    }
#if CHANNELS == 4
    out[i * CHANNELS + 3] = in[i * CHANNELS + 3];
#endif
    float4 made;
    if (view.cube) {
      const long row = 3L * size, plane = row * size;
      __global const float *at = table + low[2] * plane + low[1] * row + 3 * low[0];
      const long r = 3 * next[0], g = next[1] * row, b = next[2] * plane;
      made = at + b + g + r < last_entry ? BETWEEN(entry_and_next) : BETWEEN(entry_alone);
    } else {
      made = (float4)(table[3 * low[0]], table[3 * low[1] + 1], table[3 * low[2] + 2], 0.0f);
      const float4 after =
          (float4)(table[3 * (low[0] + next[0])], table[3 * (low[1] + next[1]) + 1],
                   table[3 * (low[2] + next[2]) + 2], 0.0f);
      made = fma((float4)(t[0], t[1], t[2], 0.0f), after - made, made);
    }
    out[i * CHANNELS] = STORED(made.x);
    out[i * CHANNELS + 1] = STORED(made.y);
    out[i * CHANNELS + 2] = STORED(made.z);
  }
}

#undef LOADED
#undef STORED
