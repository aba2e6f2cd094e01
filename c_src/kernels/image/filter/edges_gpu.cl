// Edge detection, GPU family. See edges.cl for the formula.
//
//   in    the image, elements of type T
//   out   the steepness, in every channel but alpha, which is copied
//
// One item per pixel. Edge rules: beyond an edge the image is mirrored, see image.cl; items past
// the last pixel do nothing. Preconditions: out and in do not overlap.
#pragma once

#include "kernels/image/filter/edges.cl"
#include "kernels/image/image.cl"

static inline float brightness_at(__global const T *in, const Image image, const int y,
                                  const int x) {
  const long row = mirrored(y, (int)image.height), column = mirrored(x, (int)image.width);
  in += (row * image.width + column) * image.channels;
  return image.channels == 1 ? (float)in[0] : brightness_of(in[0], in[1], in[2]);
}

__kernel void edge_detect(__global const T *restrict in, __global T *restrict out,
                          const Image image, const Edges edges) {
  const long index = (long)get_global_id(0);
  if (index >= image.height * image.width) return;
  const int y = (int)(index / image.width), x = (int)(index % image.width);
#define AT(dy, dx) brightness_at(in, image, y + dy, x + dx)
  const float result = steepness(AT(-1, -1), AT(-1, 0), AT(-1, 1), AT(0, -1), AT(0, 1), AT(1, -1),
                                 AT(1, 0), AT(1, 1), edges.scale);
#undef AT
  const int colours = (int)min(edges.channels, 3L);
  for (int c = 0; c < colours; ++c) out[index * edges.channels + c] = AS_LEVEL(result);
  if (edges.channels == 4) out[index * 4 + 3] = in[index * 4 + 3];
}
