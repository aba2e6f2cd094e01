// An image as the input of a network: a region of it, resized, normalised, in the NCHW or the NHWC
// layout, in one pass:
//
//   out[c][y][x] = gain[c] * mean of in over the area of (y, x) + bias[c]
//
// An axis that shrinks takes the mean over the area that an output covers; one that grows
// interpolates linearly between the two nearest centres, clamped to the region. Pixels outside the
// rectangle of the region are `border`. Images of one channel are repeated for three; alpha is not
// read. Positions are fractions of integers, and so exact on every device.
//
//   T   element type, u8 or f32
#pragma once

#include "kernels/image/resample/preprocess_args.h"

// The elements that output o of an axis covers, first to last, and the weights of the ends and of
// the elements between them.
typedef struct {
  long first, last;
  float at_first, between, at_last;
} Span;

static inline Span span_of(const long o, const long in, const long out) {
  Span span;
  if (in >= out) {
    span.first = o * in / out;
    span.last = ((o + 1) * in - 1) / out;
    span.at_first = (float)(min((o + 1) * in, (span.first + 1) * out) - o * in) / (float)in;
    span.between = (float)out / (float)in;
    span.at_last = span.last > span.first ? (float)((o + 1) * in - span.last * out) / (float)in : 0;
  } else {
    const long above = (2 * o + 1) * in - out, whole = 2 * out;
    const long base = above >= 0 ? above / whole : -1;
    span.first = max(base, 0L);
    span.last = min(base + 1, in - 1);
    span.between = 0;
    span.at_last = span.last > span.first ? (float)(above - base * whole) / (float)whole : 0;
    span.at_first = 1 - span.at_last;
  }
  return span;
}

static inline bool inside(const long place, const long from, const long count) {
  return place >= from && place < from + count;
}

// One item per pixel of the result, for the GPU family; the CPU family uses it for regions so wide
// that a line does not fit into local memory. Items past the last do nothing. Preconditions: no
// extent is 0; in and out do not overlap.
__kernel void preprocess_items(__global const T *restrict in, __global float *restrict out,
                               const Preprocess view) {
  const long index = (long)get_global_id(0);
  if (index >= view.out_height * view.out_width) return;
  const long y = index / view.out_width, x = index % view.out_width;
  out += view.start + index * view.pixel;
  if (!inside(y, view.to_top, view.height_to) || !inside(x, view.to_left, view.width_to)) {
    for (int c = 0; c < 3; ++c) out[c * view.plane] = view.border[c];
    return;
  }
  const Span down = span_of(y - view.to_top, view.height_in, view.height_to);
  const Span across = span_of(x - view.to_left, view.width_in, view.width_to);
  const int green = view.channels == 1 ? 0 : 1, blue = view.channels == 1 ? 0 : 2;
  float red_sum = 0, green_sum = 0, blue_sum = 0;
  for (long i = down.first; i <= down.last; ++i) {
    const float row_weight = i == down.first  ? down.at_first
                             : i == down.last ? down.at_last
                                              : down.between;
    __global const T *row = in + ((view.top + i) * view.width + view.left) * view.channels;
    // Sums of bytes are exact, so they are weighted at the end.
    float r = 0, g = 0, b = 0;
    for (long j = across.first + 1; j < across.last; ++j) {
      __global const T *from = row + j * view.channels;
      r += (float)from[0];
      g += (float)from[green];
      b += (float)from[blue];
    }
    __global const T *first = row + across.first * view.channels;
    r = across.at_first * (float)first[0] + across.between * r;
    g = across.at_first * (float)first[green] + across.between * g;
    b = across.at_first * (float)first[blue] + across.between * b;
    if (across.last > across.first) {
      __global const T *last = row + across.last * view.channels;
      r += across.at_last * (float)last[0];
      g += across.at_last * (float)last[green];
      b += across.at_last * (float)last[blue];
    }
    red_sum += row_weight * r;
    green_sum += row_weight * g;
    blue_sum += row_weight * b;
  }
  out[0] = fma(red_sum, view.gain[0], view.bias[0]);
  out[view.plane] = fma(green_sum, view.gain[1], view.bias[1]);
  out[2 * view.plane] = fma(blue_sum, view.gain[2], view.bias[2]);
}
