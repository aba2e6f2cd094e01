// The bilateral filter, GPU family. See neighbours.cl for the formula.
//
//   in, out   the image and the result, elements of type T
//   circle    which pixels are neighbours, and their weights
//   tile      local memory, a plane per colour of the levels around the pixels of a work-group
//
// One item per pixel. bilateral_tile copies the pixels around a work-group to local memory first,
// so that each is fetched from global memory once; bilateral is for devices with too little local
// memory for that. Edge rules: beyond an edge the image is mirrored, see image.cl; items past an
// edge only take part in the barrier. Alpha is copied. Preconditions: out and in do not overlap.
#pragma once

#include "kernels/image/filter/neighbours.cl"

// Sums over the neighbours: colours and, in w, weights.
static inline float4 with_neighbour(const float4 sums, const float4 centre, const float4 level,
                                    const float space, const float range) {
  const float4 away = fabs(level - centre);
  const float difference = away.x + away.y + away.z;
  const float weight = exp2(space + range * difference * difference);
  return sums + weight * level;
}

static inline float4 smoothed(const float4 sums, const float4 centre, const Circle *circle) {
  const float part =
      circle->skin ? circle->strength * skin_likeness(centre.x, centre.y, centre.z) : 1;
  return centre + part * (sums / sums.w - centre);
}

// The levels of a pixel, and 1 in w, which is the share of its weight.
static inline float4 levels_of(__global const T *pixel, const int channels) {
  if (channels == 1) return (float4)((float)pixel[0], 0.0f, 0.0f, 1.0f);
  return (float4)((float)pixel[0], (float)pixel[1], (float)pixel[2], 1.0f);
}

static inline void store_levels(__global T *to, __global const T *from, const int channels,
                                const float4 levels) {
  to[0] = AS_LEVEL(levels.x);
  if (channels == 1) return;
  to[1] = AS_LEVEL(levels.y);
  to[2] = AS_LEVEL(levels.z);
  if (channels == 4) to[3] = from[3];
}

__kernel void bilateral(__global const T *restrict in, __global T *restrict out, const Image image,
                        const Circle circle) {
  const long index = (long)get_global_id(0);
  if (index >= image.height * image.width) return;
  const int channels = (int)image.channels, radius = circle.radius;
  const int height = (int)image.height, width = (int)image.width;
  const int y = (int)(index / image.width), x = (int)(index % image.width);
  const float4 centre = levels_of(in + index * channels, channels);
  float4 sums = centre;
  for (int dy = -radius; dy <= radius; ++dy) {
    for (int dx = -radius; dx <= radius; ++dx) {
      const int squared = dx * dx + dy * dy;
      if (squared == 0 || squared > radius * radius) continue;
      const long row = mirrored(y + dy, height), column = mirrored(x + dx, width);
      const float4 level = levels_of(in + (row * width + column) * channels, channels);
      sums = with_neighbour(sums, centre, level, circle.space * (float)squared, circle.range);
    }
  }
  store_levels(out + index * channels, in + index * channels, channels,
               smoothed(sums, centre, &circle));
}

static inline float4 levels_at(__local const float *tile, const int at, const int area,
                               const int colours) {
  if (colours == 1) return (float4)(tile[at], 0.0f, 0.0f, 1.0f);
  return (float4)(tile[at], tile[area + at], tile[2 * area + at], 1.0f);
}

__kernel void bilateral_tile(__global const T *restrict in, __global T *restrict out,
                             const Image image, const Circle circle, __local float *tile) {
  const int channels = (int)image.channels, colours = min(channels, 3), radius = circle.radius;
  const int height = (int)image.height, width = (int)image.width;
  const int wide = (int)get_local_size(0), high = (int)get_local_size(1);
  const int local_x = (int)get_local_id(0), local_y = (int)get_local_id(1);
  const int x0 = (int)get_group_id(0) * wide - radius, y0 = (int)get_group_id(1) * high - radius;
  const int columns = wide + 2 * radius, area = columns * (high + 2 * radius);
  for (int at = local_y * wide + local_x; at < area; at += wide * high) {
    const long row = mirrored(y0 + at / columns, height);
    const long column = mirrored(x0 + at % columns, width);
    __global const T *pixel = in + (row * width + column) * channels;
    for (int c = 0; c < colours; ++c) tile[c * area + at] = (float)pixel[c];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const int x = x0 + radius + local_x, y = y0 + radius + local_y;
  if (x >= width || y >= height) return;

  const int own = (local_y + radius) * columns + local_x + radius;
  const float4 centre = levels_at(tile, own, area, colours);
  float4 sums = centre;
  for (int dy = -radius; dy <= radius; ++dy) {
    for (int dx = -radius; dx <= radius; ++dx) {
      const int squared = dx * dx + dy * dy;
      if (squared == 0 || squared > radius * radius) continue;
      const float4 level = levels_at(tile, own + dy * columns + dx, area, colours);
      sums = with_neighbour(sums, centre, level, circle.space * (float)squared, circle.range);
    }
  }
  const long index = ((long)y * width + x) * channels;
  store_levels(out + index, in + index, channels, smoothed(sums, centre, &circle));
}
