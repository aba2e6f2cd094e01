// out[p][y][x][c] = FINISH(COMBINE over the elements c of the window of (y, x) in plane p), as a
// kernel ENTRY, GPU family. See pool_cpu.cl for the arguments.
//
//   channels   per pixel, adjacent in memory
//   count      elements of out
//
// One item per output element. Edge rules: padding is skipped; items past the last element do
// nothing. Preconditions: every window has an element; in and out do not overlap.

#include "kernels/nn/window.cl"
#include "kernels/reduce/operations.cl"

__kernel void ENTRY(__global const T *restrict in, __global T *restrict out, const Window window,
                    const long channels, const long count, const int count_padding) {
  const long index = (long)get_global_id(0);
  if (index >= count) return;
  const long row = index / channels / window.out_width;
  const long y0 = row % window.out_height * window.stride_y - window.pad_y;
  const long x0 = index / channels % window.out_width * window.stride_x - window.pad_x;
  const long low_y = max(y0, 0L), high_y = min(y0 + window.size_y, window.height);
  const long low_x = max(x0, 0L), high_x = min(x0 + window.size_x, window.width);
  in += row / window.out_height * window.height * window.width * channels + index % channels;

  ACC result = IDENTITY;
  for (long y = low_y; y < high_y; ++y) {
    for (long x = low_x; x < high_x; ++x) {
      result = COMBINE(result, (ACC)in[(y * window.width + x) * channels]);
    }
  }
  const long total =
      count_padding ? window.size_y * window.size_x : (high_y - low_y) * (high_x - low_x);
  out[index] = (T)FINISH(result, total);
}
