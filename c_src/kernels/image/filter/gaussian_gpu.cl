// The Gaussian blur of an image and filters based on it, GPU family.
//
//   columns[y][x][c] = sum over k of weight[|k|] * in[y + k][x][c]
//   blurred[y][x][c] = sum over k of weight[|k|] * columns[y][x + k][c],  k = -radius..radius
//
//   blur      blurred
//   sharpen   in + amount * (in - blurred)
//
//   in, out   the image and the result, elements of type T
//   columns   the sums between the two passes, one MIDDLE per element, scaled by MIDDLE_ONE
//   gauss     the radius and the weights, whose sum over both sides is 1
//
// Here are the functions and the first of two passes; gaussian_filter_gpu.cl has the filters.
//
// Both passes in one launch (blur_tile, sharpen_tile): a work-group owns `wide` elements of
// GAUSS_ROWS rows. Its items compute the sums of `wide` columns and of those within the radius to
// either side into local memory, GAUSS_ROWS of a column at a time, so that an element of the image
// is fetched once for all rows of the tile; then the rows from there. Where that is too much local
// memory, or most of it would be margins, there is a launch per pass, with one item per element:
// gaussian_columns, then blur or sharpen.
//
// Edge rules: beyond an edge the image is mirrored, see image.cl; items past the last element do
// nothing but take part in barriers. Alpha is copied. Preconditions: out and in do not overlap; a
// work-group has a power of two of items.
#pragma once

#include "kernels/image/filter/gauss_args.h"
#include "kernels/image/image.cl"

#if T_FLOAT
#define MIDDLE float
#define MIDDLE_ONE 1.0f
#define AS_MIDDLE(x) (x)
#else
#define MIDDLE ushort
#define MIDDLE_ONE 256.0f
#define AS_MIDDLE(x) convert_ushort_sat_rte((x)*MIDDLE_ONE)
#endif

// Copies the weights to local memory. Each is at a constant place of the argument: an array of an
// argument that is indexed by a variable is copied to slow memory by some compilers, for each item.
static inline void keep_weights(__local float *weights, const Gauss *gauss) {
  const int item = (int)get_local_id(0), items = (int)get_local_size(0);
#pragma unroll
  for (int k = 0; k <= MAX_RADIUS; ++k) {
    if ((k & (items - 1)) == item && k <= gauss->radius) weights[k] = gauss->weights[k];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

// One pass per launch --------------------------------------------------------------------------

__kernel void gaussian_columns(__global const T *restrict in, __global MIDDLE *restrict columns,
                               const Image image, const Gauss gauss) {
  __local float weights[MAX_RADIUS + 1];
  keep_weights(weights, &gauss);
  const long index = (long)get_global_id(0);
  const long row_elements = image.width * image.channels;
  if (index >= image.height * row_elements) return;
  const int y = (int)(index / row_elements), height = (int)image.height;
  in += index % row_elements;
  float sum = weights[0] * (float)in[y * row_elements];
  for (int k = 1; k <= gauss.radius; ++k) {
    const float above = (float)in[mirrored(y - k, height) * row_elements];
    sum += weights[k] * (above + (float)in[mirrored(y + k, height) * row_elements]);
  }
  columns[index] = AS_MIDDLE(sum);
}

static inline float row_sum(__global const MIDDLE *columns, const long index, const Image image,
                            const int radius, __local const float *weights) {
  const int channels = (int)image.channels, width = (int)image.width;
  const int x = (int)(index % (image.width * image.channels)) / channels;
  float sum = weights[0] * (float)columns[index];
  columns += index - (long)x * channels;
  for (int k = 1; k <= radius; ++k) {
    const float left = (float)columns[mirrored(x - k, width) * channels];
    sum += weights[k] * (left + (float)columns[mirrored(x + k, width) * channels]);
  }
  return sum / MIDDLE_ONE;
}

// Both passes in one launch --------------------------------------------------------------------

// The sums of the columns from element `first` of a row on, `count` of them, into `middle`.
static inline void tile_columns(__global const T *restrict in, __local MIDDLE *middle,
                                __local const float *weights, const Image image, const int radius,
                                const int y0, const int first, const int count) {
  const int channels = (int)image.channels, width = (int)image.width, height = (int)image.height;
  const long pitch = image.width * image.channels;
  for (int c = (int)get_local_id(0); c < count; c += (int)get_local_size(0)) {
    // The first pixel may be up to `radius` pixels before the row.
    const int shifted = first + c + radius * channels;
    const int x = shifted / channels - radius;
    __global const T *column = in + mirrored(x, width) * channels + shifted % channels;
    float sums[GAUSS_ROWS];
#pragma unroll
    for (int r = 0; r < GAUSS_ROWS; ++r) sums[r] = 0;
    for (int j = -radius; j < GAUSS_ROWS + radius; ++j) {
      const float level = (float)column[mirrored(y0 + j, height) * pitch];
#pragma unroll
      for (int r = 0; r < GAUSS_ROWS; ++r) {
        const int k = abs(j - r);
        if (k <= radius) sums[r] += weights[k] * level;
      }
    }
#pragma unroll
    for (int r = 0; r < GAUSS_ROWS; ++r) middle[r * count + c] = AS_MIDDLE(sums[r]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

// The sum of a row around `at`.
static inline float tile_row(__local const MIDDLE *at, __local const float *weights,
                             const int channels, const int radius) {
  float sum = weights[0] * (float)at[0];
  for (int k = 1; k <= radius; ++k) {
    sum += weights[k] * ((float)at[-k * channels] + (float)at[k * channels]);
  }
  return sum / MIDDLE_ONE;
}

static inline float blurred(const float level, const float smooth, const float amount) {
  return smooth;
}
static inline float sharpened(const float level, const float smooth, const float amount) {
  return level + amount * (level - smooth);
}
