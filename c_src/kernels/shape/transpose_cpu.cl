// Permutes dimensions such that the innermost one changes, CPU family:
// out[.., c, .., r] = in[.., r, .., c] for 0 <= r < rows, 0 <= c < columns, with the others in any
// order.
//
//   in, out   elements of type T, an unsigned type of the element's size
//   view      dimensions and strides of both, see transpose_args.h
//
// A tile is copied row by row into private memory and written column by column from there, so
// that every cache line of in and out is accessed once, for all strides. Edge rule: tiles at the
// end of a dimension are cut. Preconditions: in and out do not overlap; the groups cover all
// tiles.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/shape/transpose_args.h"

#define TILE 64

SINGLE_ITEM_KERNEL void transpose(__global const T *restrict in, __global T *restrict out,
                                  const TransposeView view) {
  const long tiles_down = (view.rows + TILE - 1) / TILE;
  const long tiles_across = (view.columns + TILE - 1) / TILE;
  const long first = (long)get_group_id(0) * view.tiles;
  const long last = min(first + view.tiles, view.total);

  // One column of padding keeps the elements of a column in different cache sets.
  T tile[TILE][TILE + 1];

  for (long t = first; t < last; ++t) {
    const long r0 = t % tiles_down * TILE;
    const long c0 = t / tiles_down % tiles_across * TILE;
    const int height = (int)min((long)TILE, view.rows - r0);
    const int width = (int)min((long)TILE, view.columns - c0);
    __global const T *from = in + r0 * view.in_stride + c0;
    __global T *to = out + c0 * view.out_stride + r0;
    long rest = t / (tiles_down * tiles_across);
    for (int d = 0; d < view.outer; ++d) {
      from += rest % view.dims[d] * view.in_strides[d];
      to += rest % view.dims[d] * view.out_strides[d];
      rest /= view.dims[d];
    }

    for (int r = 0; r < height; ++r) {
      for (int c = 0; c < width; ++c) tile[r][c] = from[r * view.in_stride + c];
    }
    for (int c = 0; c < width; ++c) {
      for (int r = 0; r < height; ++r) to[c * view.out_stride + r] = tile[r][c];
    }
  }
}
