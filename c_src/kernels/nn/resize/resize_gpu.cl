// out[p][y][x][c] from the elements of in[p][..][..][c] around the position of (y, x), GPU family.
// With one tap it is the nearest element, with two or four per axis a sum of products with the
// weights of both axes.
//
//   in, out   planes of pixels of view.channels elements of type T
//
// One item per output element. Edge rules: elements past an edge repeat the one at the edge; items
// past the last element do nothing. Preconditions: no extent is 0; in and out do not overlap.
#pragma once

#include "kernels/nn/resize/resize.cl"

__kernel void resize(__global const T *restrict in, __global T *restrict out, const Resize view) {
  const long index = (long)get_global_id(0);
  const long row_elements = view.out_width * view.channels;
  const long in_elements = view.width * view.channels;
  if (index >= view.planes * view.out_height * row_elements) return;
  const long channel = index % view.channels, column = index % row_elements / view.channels;
  const long row = index / row_elements % view.out_height;
  in += index / row_elements / view.out_height * view.height * in_elements + channel;
  const int taps = (int)view.taps;
  if (taps == 1) {
    const long y = nearest_of(row, view.height, view.out_height, view.align_corners);
    const long x = nearest_of(column, view.width, view.out_width, view.align_corners);
    out[index] = in[y * in_elements + x * view.channels];
    return;
  }
  const Place down = place_of(row, view.height, view.out_height, view.align_corners);
  const Place across = place_of(column, view.width, view.out_width, view.align_corners);
  BLEND result = 0;
  for (int i = 0; i < taps; ++i) {
    __global const T *from = in + tap_index(down, taps, i, view.height) * in_elements;
    BLEND line = 0;
    for (int j = 0; j < taps; ++j) {
      const long x = tap_index(across, taps, j, view.width);
      line += tap_weight(across, taps, j) * (BLEND)from[x * view.channels];
    }
    result += tap_weight(down, taps, i) * line;
  }
  out[index] = AS_ELEMENT(result);
}
