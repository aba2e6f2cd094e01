// The index along the axis of the largest element, or the smallest, CPU family.
//
//   in       view.outer * view.axis * view.inner elements of type T
//   out      the index of each result, of type OUT (argmax_direct, with one segment)
//   values,
//   indexes  the largest element of each result and segment, and its index (argmax_partial)
//   view     see axis_args.h
//
// A work-group is one item and owns view.units pieces. Candidates are kept side by side: per column
// when inner is above 1, per row where rows are short, per lane of a row otherwise. Edge rules: see
// argmax.cl; pieces at the end of a dimension are short. Preconditions: axis > 0, segment < 2^31;
// nothing overlaps.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/common/loops.h"
#include "kernels/reduce/argmax.cl"
#include "kernels/reduce/axis.cl"

// The first maximum of each of `width` columns.
static inline void best_of_columns(__global const T *from, const long stride, const long depth,
                                   const int width, T *best, uint *at) {
  for (int j = 0; j < width; ++j) {
    best[j] = from[j];
    at[j] = 0;
  }
  for (long k = 1; k < depth; ++k) {
    from += stride;
    for (int j = 0; j < width; ++j) {
      const bool wins = better(from[j], best[j]);
      best[j] = wins ? from[j] : best[j];
      at[j] = wins ? (uint)k : at[j];
    }
  }
}

// The first maximum of a row, computed as LANES interleaved columns.
static inline void best_of_row(__global const T *from, const long depth, T *best, uint *at) {
  const long rounds = depth / LANES;
  long i = 0;
  best[0] = from[0];
  at[0] = 0;
  if (rounds > 1) {
    best_of_columns(from, LANES, rounds, LANES, best, at);
    for (int j = 0; j < LANES; ++j) at[j] = at[j] * LANES + (uint)j;
    for (int j = 1; j < LANES; ++j) {
      if (comes_first(best[j], at[j], best[0], at[0])) {
        best[0] = best[j];
        at[0] = at[j];
      }
    }
    i = rounds * LANES;
  }
  for (; i < depth; ++i) {
    if (better(from[i], best[0])) {
      best[0] = from[i];
      at[0] = (uint)i;
    }
  }
}

// Rows that are too short to be split into lanes are processed ROWS at a time.
#define ROWS 16
#define SHORT_ROW (2 * LANES)

// The first maximum of each of ROWS consecutive rows of `depth` elements.
static inline void best_of_rows(__global const T *from, const int depth, __global OUT *out) {
  T best[ROWS];
  uint at[ROWS];
  INDEPENDENT_LOOP
  for (int j = 0; j < ROWS; ++j) {
    best[j] = from[j * depth];
    at[j] = 0;
  }
  for (int k = 1; k < depth; ++k) {
    INDEPENDENT_LOOP
    for (int j = 0; j < ROWS; ++j) {
      const T x = from[j * depth + k];
      const bool wins = better(x, best[j]);
      best[j] = wins ? x : best[j];
      at[j] = wins ? (uint)k : at[j];
    }
  }
  INDEPENDENT_LOOP
  for (int j = 0; j < ROWS; ++j) out[j] = (OUT)at[j];
}

static inline void best_of_piece(__global const T *in, const AxisView view, const Piece piece,
                                 T *best, uint *at) {
  if (view.inner == 1) {
    best_of_row(in + piece.from, piece.depth, best, at);
  } else {
    best_of_columns(in + piece.from, view.inner, piece.depth, piece.width, best, at);
  }
}

SINGLE_ITEM_KERNEL void argmax_direct(__global const T *restrict in, __global OUT *restrict out,
                                      const AxisView view) {
  T best[COLUMNS];
  uint at[COLUMNS];
  const long first = (long)get_group_id(0) * view.units;
  const long last = min(first + view.units, pieces_of(view));
  long index = first;
  if (view.inner == 1 && view.axis < SHORT_ROW) {
    // A piece is a row.
    for (; index + ROWS <= last; index += ROWS) {
      best_of_rows(in + index * view.axis, (int)view.axis, out + index);
    }
  }
  for (; index < last; ++index) {
    const Piece piece = piece_at(view, index);
    best_of_piece(in, view, piece, best, at);
    for (int j = 0; j < piece.width; ++j) out[piece.to + j] = (OUT)at[j];
  }
}

SINGLE_ITEM_KERNEL void argmax_partial(__global const T *restrict in, __global T *restrict values,
                                       __global long *restrict indexes, const AxisView view) {
  T best[COLUMNS];
  uint at[COLUMNS];
  const long first = (long)get_group_id(0) * view.units;
  const long last = min(first + view.units, pieces_of(view));
  for (long index = first; index < last; ++index) {
    const Piece piece = piece_at(view, index);
    best_of_piece(in, view, piece, best, at);
    for (int j = 0; j < piece.width; ++j) {
      values[piece.to + j] = best[j];
      indexes[piece.to + j] = piece.start + (long)at[j];
    }
  }
}
