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
// One item per element. Edge rules: beyond an edge the image is mirrored, see image.cl; items past
// the last element do nothing. Alpha is copied. Preconditions: out and in do not overlap.
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

__kernel void gaussian_columns(__global const T *restrict in, __global MIDDLE *restrict columns,
                               const Image image, const Gauss gauss) {
  const long index = (long)get_global_id(0);
  const long row_elements = image.width * image.channels;
  if (index >= image.height * row_elements) return;
  const int y = (int)(index / row_elements), height = (int)image.height;
  in += index % row_elements;
  float sum = gauss.weights[0] * (float)in[y * row_elements];
  for (int k = 1; k <= gauss.radius; ++k) {
    const float above = (float)in[mirrored(y - k, height) * row_elements];
    sum += gauss.weights[k] * (above + (float)in[mirrored(y + k, height) * row_elements]);
  }
  columns[index] = AS_MIDDLE(sum);
}

static inline float row_sum(__global const MIDDLE *columns, const long index, const Image image,
                            const Gauss *gauss) {
  const int channels = (int)image.channels, width = (int)image.width;
  const int x = (int)(index % (image.width * image.channels)) / channels;
  float sum = gauss->weights[0] * (float)columns[index];
  columns += index - (long)x * channels;
  for (int k = 1; k <= gauss->radius; ++k) {
    const float left = (float)columns[mirrored(x - k, width) * channels];
    sum += gauss->weights[k] * (left + (float)columns[mirrored(x + k, width) * channels]);
  }
  return sum / MIDDLE_ONE;
}

__kernel void blur(__global const T *restrict in, __global const MIDDLE *restrict columns,
                   __global T *restrict out, const Image image, const Gauss gauss) {
  const long index = (long)get_global_id(0);
  if (index >= image.height * image.width * image.channels) return;
  const bool alpha = image.channels == 4 && index % 4 == 3;
  out[index] = alpha ? in[index] : AS_LEVEL(row_sum(columns, index, image, &gauss));
}

__kernel void sharpen(__global const T *restrict in, __global const MIDDLE *restrict columns,
                      __global T *restrict out, const Image image, const Gauss gauss) {
  const long index = (long)get_global_id(0);
  if (index >= image.height * image.width * image.channels) return;
  const bool alpha = image.channels == 4 && index % 4 == 3;
  const float level = (float)in[index];
  const float above = level - row_sum(columns, index, image, &gauss);
  out[index] = alpha ? in[index] : AS_LEVEL(level + gauss.amount * above);
}
