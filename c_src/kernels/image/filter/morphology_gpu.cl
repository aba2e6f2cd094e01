// The lowest (erode) or highest (dilate) level in a square, see morphology_cpu.cl, GPU family: one
// pass along the columns into an intermediate picture, then one along the rows.
//
//   in, picture   the picture, elements of type T
//   out           the result; alpha is copied by the second pass
//   ENTRY, LOWEST   the kernels' name, and whether the lowest level counts or the highest
//
// One item per element. Edge rules: positions outside the picture are ignored; items past the last
// element do nothing. Preconditions: out overlaps neither input.

#include "kernels/common/paste.h"
#include "kernels/image/filter/morphology_args.h"
#include "kernels/image/image_args.h"

#if LOWEST
#define CHOSEN(a, b) ((b) < (a) ? (b) : (a))
#else
#define CHOSEN(a, b) ((b) > (a) ? (b) : (a))
#endif

__kernel void PASTE(ENTRY, _columns)(__global const T *restrict in, __global T *restrict out,
                                     const Image image, const Morphology square) {
  const long index = (long)get_global_id(0), row_elements = image.width * image.channels;
  if (index >= image.height * row_elements) return;
  const long y = index / row_elements;
  const long top = max(y - square.radius, 0L), bottom = min(y + square.radius, image.height - 1);
  T level = in[index];
  for (long row = top; row <= bottom; ++row) {
    level = CHOSEN(level, in[index + (row - y) * row_elements]);
  }
  out[index] = level;
}

__kernel void PASTE(ENTRY, _rows)(__global const T *restrict picture, __global const T *restrict in,
                                  __global T *restrict out, const Image image,
                                  const Morphology square) {
  const long index = (long)get_global_id(0), channels = image.channels;
  if (index >= image.height * image.width * channels) return;
  if (channels == 4 && index % 4 == 3) {
    out[index] = picture[index];
    return;
  }
  const long x = index / channels % image.width;
  const long left = max(x - square.radius, 0L), right = min(x + square.radius, image.width - 1);
  T level = in[index];
  for (long column = left; column <= right; ++column) {
    level = CHOSEN(level, in[index + (column - x) * channels]);
  }
  out[index] = level;
}

#undef CHOSEN
