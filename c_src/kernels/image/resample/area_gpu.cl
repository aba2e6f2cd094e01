// The mean of areas, see area.cl, GPU family; the CPU family uses it for areas so large that a line
// does not fit into local memory.
//
// One item per output element; items past the last do nothing. Preconditions: no extent is 0; in
// and out do not overlap.
#pragma once

#include "kernels/image/resample/area.cl"

__kernel void area_items(__global const T *restrict in, __global T *restrict out, const Area view) {
  const long index = (long)get_global_id(0);
  const long row_elements = view.out_width * view.channels;
  if (index >= view.planes * view.out_height * row_elements) return;
  const long channel = index % view.channels, x = index % row_elements / view.channels;
  const long y = index / row_elements % view.out_height;
  in += index / row_elements / view.out_height * view.height * view.width * view.channels + channel;
  const long left = first_covered(x, view.width, view.out_width);
  const long right = last_covered(x, view.width, view.out_width);
  const long bottom = last_covered(y, view.height, view.out_height);
  ACC sum = 0;
  for (long i = first_covered(y, view.height, view.out_height); i <= bottom; ++i) {
    ACC line = 0;
    for (long j = left; j <= right; ++j) {
      line +=
          covered(j, x, view.width, view.out_width) * (ACC)in[(i * view.width + j) * view.channels];
    }
    sum += covered(i, y, view.height, view.out_height) * line;
  }
  out[index] = AS_MEAN(sum);
}
