// out[p][y][x][c] from the elements of in[p][..][..][c] around the position of (y, x), CPU family.
// With one tap it is the nearest element, with two or four per axis a sum of products with the
// weights of both axes.
//
//   in, out   planes of pixels of view.channels elements of type T
//   indices   local memory: taps * strip_columns, the offset of each tap of a column in a row
//   weights   local memory: taps * strip_columns, the weights of the taps
//   lines     local memory: taps * strip_columns, rows of the input resized in x
//
//   view.strip_rows      output rows per work-group
//   view.strip_columns   elements of an output row per work-group
//
// A work-group is one item and owns a rectangle of one plane. The columns' taps are computed once;
// each input row is resized in x once, into the line of number row % taps, and output rows are sums
// of lines. Edge rule: elements past an edge repeat the one at the edge. Preconditions: no extent
// is 0; in and out do not overlap; range is {ceil(out_width * channels / strip_columns),
// ceil(out_height / strip_rows), planes}.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/common/loops.h"
#include "kernels/nn/resize/resize.cl"

static inline void resize_line(__global const T *row, __local const int *indices,
                               __local const BLEND *weights, const int taps, const int width,
                               const int stride, __local BLEND *line) {
  if (taps == 2) {
    INDEPENDENT_LOOP
    for (int j = 0; j < width; ++j) {
      line[j] = weights[j] * (BLEND)row[indices[j]] +
                weights[stride + j] * (BLEND)row[indices[stride + j]];
    }
    return;
  }
  INDEPENDENT_LOOP
  for (int j = 0; j < width; ++j) {
    line[j] = weights[j] * (BLEND)row[indices[j]] +
              weights[stride + j] * (BLEND)row[indices[stride + j]] +
              weights[2 * stride + j] * (BLEND)row[indices[2 * stride + j]] +
              weights[3 * stride + j] * (BLEND)row[indices[3 * stride + j]];
  }
}

SINGLE_ITEM_KERNEL void resize(__global const T *restrict in, __global T *restrict out,
                               const Resize view, __local int *indices, __local BLEND *weights,
                               __local BLEND *lines) {
  const long row_elements = view.out_width * view.channels;
  const long in_elements = view.width * view.channels;
  const long column0 = (long)get_group_id(0) * view.strip_columns;
  const long row0 = (long)get_group_id(1) * view.strip_rows;
  const long row_end = min(row0 + view.strip_rows, view.out_height);
  const long plane = (long)get_group_id(2);
  const int width = (int)min(view.strip_columns, row_elements - column0);
  const int stride = (int)view.strip_columns, taps = (int)view.taps;
  in += plane * view.height * in_elements;
  out += plane * view.out_height * row_elements + column0;

  for (int j = 0; j < width; ++j) {
    const long column = (column0 + j) / view.channels, channel = (column0 + j) % view.channels;
    if (taps == 1) {
      const long nearest = nearest_of(column, view.width, view.out_width, view.align_corners);
      indices[j] = (int)(nearest * view.channels + channel);
      continue;
    }
    const Place place = place_of(column, view.width, view.out_width, view.align_corners);
    for (int k = 0; k < taps; ++k) {
      indices[k * stride + j] =
          (int)(tap_index(place, taps, k, view.width) * view.channels + channel);
      weights[k * stride + j] = tap_weight(place, taps, k);
    }
  }

  long held[MAX_TAPS] = {-1, -1, -1, -1};  // the input row in each line
  for (long row = row0; row < row_end; ++row) {
    __global T *to = out + row * row_elements;
    if (taps == 1) {
      __global const T *from =
          in + nearest_of(row, view.height, view.out_height, view.align_corners) * in_elements;
      INDEPENDENT_LOOP
      for (int j = 0; j < width; ++j) to[j] = from[indices[j]];
      continue;
    }
    const Place place = place_of(row, view.height, view.out_height, view.align_corners);
    __local const BLEND *line[MAX_TAPS];
    BLEND weight[MAX_TAPS];
    for (int k = 0; k < taps; ++k) {
      const long index = tap_index(place, taps, k, view.height);
      const int slot = (int)(index % taps);
      if (held[slot] != index) {
        resize_line(in + index * in_elements, indices, weights, taps, width, stride,
                    lines + slot * stride);
        held[slot] = index;
      }
      line[k] = lines + slot * stride;
      weight[k] = tap_weight(place, taps, k);
    }
    __local const BLEND *line0 = line[0], *line1 = line[1];
    const BLEND weight0 = weight[0], weight1 = weight[1];
    if (taps == 2) {
      INDEPENDENT_LOOP
      for (int j = 0; j < width; ++j) {
        to[j] = AS_ELEMENT(weight0 * line0[j] + weight1 * line1[j]);
      }
      continue;
    }
    __local const BLEND *line2 = line[2], *line3 = line[3];
    const BLEND weight2 = weight[2], weight3 = weight[3];
    INDEPENDENT_LOOP
    for (int j = 0; j < width; ++j) {
      to[j] = AS_ELEMENT(weight0 * line0[j] + weight1 * line1[j] + weight2 * line2[j] +
                         weight3 * line3[j]);
    }
  }
}
