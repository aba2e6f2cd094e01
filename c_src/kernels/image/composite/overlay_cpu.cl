// `over` composited over `base`, CPU family. See over.cl for the formula and over_args.h for the
// view.
//
//   base, out   pixels of CHANNELS elements of type T
//   over        pixels of OVER_CHANNELS
//
// A work-group is one item and owns view.strip rows: it copies the pixels left and right of `over`,
// and processes the covered ones LANES at a time, the last of a row through private memory. Edge
// rules: pixels of `over` outside of the base are clipped, the last strip ends at the last row. out
// may be base, but not over; operands may be unaligned.

#include "kernels/common/kernel.h"
#include "kernels/common/paste.h"
#include "kernels/image/composite/over.cl"
#include "kernels/image/pixels/pixel_access_cpu.cl"

SINGLE_ITEM_KERNEL void ENTRY(__global const T *base, __global const T *over, __global T *out,
                              const Over view) {
  const long first = (long)get_group_id(0) * view.strip;
  const long end = min(first + view.strip, view.height);
  const long left = clamp(view.x, 0L, view.width);
  const long right = clamp(view.x + view.over_width, left, view.width);
  for (long row = first; row < end; ++row) {
    __global const T *from = base + row * view.width * CHANNELS;
    __global T *to = out + row * view.width * CHANNELS;
    const bool covered = row >= view.y && row < view.y + view.over_height && left < right;
    const long stop = covered ? left : view.width;
    if (base != out) {
      for (long i = 0; i < stop * CHANNELS; ++i) to[i] = from[i];
      for (long i = max(right, stop) * CHANNELS; i < view.width * CHANNELS; ++i) to[i] = from[i];
    }
    if (!covered) continue;
    __global const T *above =
        over + ((row - view.y) * view.over_width + left - view.x) * OVER_CHANNELS;
    long x = left;
    for (; x + LANES <= right; x += LANES) {
      const Pixels below = PASTE(load_, CHANNELS)(from + x * CHANNELS);
      const Pixels pixels = PASTE(load_, OVER_CHANNELS)(above + (x - left) * OVER_CHANNELS);
      PASTE(store_, CHANNELS)(pixels_over(below, pixels, view.alpha), to + x * CHANNELS);
    }
    if (x < right) {
      T below[LANES * 4], pixels[LANES * 4];
      const int rest = (int)(right - x);
      for (int k = 0; k < LANES * 4; ++k) below[k] = pixels[k] = 0;
      for (int k = 0; k < rest * CHANNELS; ++k) below[k] = from[x * CHANNELS + k];
      for (int k = 0; k < rest * OVER_CHANNELS; ++k) {
        pixels[k] = above[(x - left) * OVER_CHANNELS + k];
      }
      const Pixels made = pixels_over(PASTE(load_, CHANNELS)(below),
                                      PASTE(load_, OVER_CHANNELS)(pixels), view.alpha);
      PASTE(store_, CHANNELS)(made, below);
      for (int k = 0; k < rest * CHANNELS; ++k) to[x * CHANNELS + k] = below[k];
    }
  }
}
