// The bilateral filter, GPU family. See neighbours.cl for the formula.
//
//   in, out      the image and the result, elements of type T
//   neighbours   the offsets of the neighbours and their weights
//
// One item per pixel. Edge rules: beyond an edge the image is mirrored, see image.cl; items past
// the last pixel do nothing. Alpha is copied. Preconditions: out and in do not overlap.
#pragma once

#include "kernels/image/filter/neighbours.cl"

__kernel void bilateral(__global const T *restrict in, __global T *restrict out, const Image image,
                        const Neighbours neighbours) {
  const long index = (long)get_global_id(0);
  if (index >= image.height * image.width) return;
  const int channels = (int)image.channels, colours = min(channels, 3);
  const int height = (int)image.height, width = (int)image.width;
  const int y = (int)(index / image.width), x = (int)(index % image.width);
  float level[3] = {0, 0, 0}, sum[3] = {0, 0, 0};
  for (int c = 0; c < colours; ++c) sum[c] = level[c] = (float)in[index * channels + c];
  float weights = 1;
  for (int i = 0; i < neighbours.count; ++i) {
    const long row = mirrored(y + neighbours.dy[i], height);
    const long column = mirrored(x + neighbours.dx[i], width);
    __global const T *from = in + (row * width + column) * channels;
    float difference = 0;
    for (int c = 0; c < colours; ++c) difference += fabs((float)from[c] - level[c]);
    const float weight = exp2(neighbours.space[i] + neighbours.range * difference * difference);
    for (int c = 0; c < colours; ++c) sum[c] += weight * (float)from[c];
    weights += weight;
  }
  const float part =
      neighbours.skin ? neighbours.strength * skin_likeness(level[0], level[1], level[2]) : 1;
  for (int c = 0; c < colours; ++c) {
    out[index * channels + c] = AS_LEVEL(level[c] + part * (sum[c] / weights - level[c]));
  }
  if (channels == 4) out[index * 4 + 3] = in[index * 4 + 3];
}
