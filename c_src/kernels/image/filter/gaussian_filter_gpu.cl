// Template: a filter based on the Gaussian blur, see gaussian_gpu.cl.
//
//   ENTRY    the kernel that finishes from `columns`; ENTRY_tile does both passes
//   FINISH   the result, from a level, its blurred neighbourhood and gauss.amount
//   wide     elements per row of a work-group
//   middle   local memory, GAUSS_ROWS rows of `wide` elements and the margins

#include "kernels/common/paste.h"
#include "kernels/image/filter/gaussian_gpu.cl"

__kernel void ENTRY(__global const T *restrict in, __global const MIDDLE *restrict columns,
                    __global T *restrict out, const Image image, const Gauss gauss) {
  __local float weights[MAX_RADIUS + 1];
  keep_weights(weights, &gauss);
  const long index = (long)get_global_id(0);
  if (index >= image.height * image.width * image.channels) return;
  const T own = in[index];
  const bool alpha = image.channels == 4 && index % 4 == 3;
  const float smooth = row_sum(columns, index, image, gauss.radius, weights);
  out[index] = alpha ? own : AS_LEVEL(FINISH((float)own, smooth, gauss.amount));
}

__kernel void PASTE(ENTRY, _tile)(__global const T *restrict in, __global T *restrict out,
                                  const Image image, const Gauss gauss, const int wide,
                                  __local MIDDLE *middle) {
  __local float weights[MAX_RADIUS + 1];
  keep_weights(weights, &gauss);
  const int channels = (int)image.channels, margin = gauss.radius * channels;
  const int pitch = (int)image.width * channels, count = wide + 2 * margin;
  const int x0 = (int)get_group_id(0) * wide, y0 = (int)get_group_id(1) * GAUSS_ROWS;
  tile_columns(in, middle, weights, image, gauss.radius, y0, x0 - margin, count);
  const int rows = min(GAUSS_ROWS, (int)image.height - y0);
  const int columns = min(wide, pitch - x0);
  for (int c = (int)get_local_id(0); c < columns; c += (int)get_local_size(0)) {
    const bool alpha = channels == 4 && (x0 + c) % 4 == 3;
    for (int r = 0; r < rows; ++r) {
      const long at = (long)(y0 + r) * pitch + x0 + c;
      const T own = in[at];
      __local const MIDDLE *from = middle + r * count + margin + c;
      const float smooth = tile_row(from, weights, channels, gauss.radius);
      out[at] = alpha ? own : AS_LEVEL(FINISH((float)own, smooth, gauss.amount));
    }
  }
}
