// An image whose red increases with x from 0 to 255, and green with y; blue is 128 and alpha 255.
// Float images are divided by 255.
//
//   out       pixels of 4 elements of type T
//   across    the increment of red per column, down: of green per row, in levels of 255
//
// Each item owns `chunk` pixels: many in the CPU family, one in the GPU family. Edge rule: the last
// chunk ends at the last pixel.
#pragma once

#include "kernels/image/pixels/pixels.cl"

#if T_FLOAT
#define GRADED(x) ((x) * (1.0f / 255.0f))
#else
#define GRADED(x) (T)(int)((x) + HALF)
#endif

__kernel void gradient(__global T *out, const long height, const long width, const long chunk,
                       const float across, const float down) {
  const long begin = (long)get_global_id(0) * chunk;
  const long end = min(begin + chunk, height * width);
  for (long i = begin; i < end;) {
    const long row = i / width, column = i % width;
    const int run = (int)min(width - column, end - i);
    const T green = GRADED((float)row * down);
    __global T *to = out + 4 * i;
    for (int j = 0; j < run; ++j) {
      to[4 * j] = GRADED((float)(int)(column + j) * across);
      to[4 * j + 1] = green;
      to[4 * j + 2] = GRADED(128.0f);
      to[4 * j + 3] = GRADED(255.0f);
    }
    i += run;
  }
}

#undef GRADED
