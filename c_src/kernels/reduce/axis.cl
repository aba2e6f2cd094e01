// The pieces of work of the CPU kernels along one axis; the view is in axis_args.h.
#pragma once

#include "kernels/reduce/axis_args.h"

// CPU class: the maximum number of columns of a piece, and the number of lanes that a row is
// split into.
#define COLUMNS 1024
#define LANES 64

// A piece of work: result `result` = outer * segments + segment, from column `column` on.
typedef struct {
  long from;   // first element read
  long to;     // first element written
  long depth;  // elements of the axis
  long start;  // of the segment along the axis
  int width;   // columns
} Piece;

static inline long pieces_of(const AxisView view) {
  return view.outer * view.segments * ((view.inner + view.columns - 1) / view.columns);
}

static inline Piece piece_at(const AxisView view, const long index) {
  const long blocks = (view.inner + view.columns - 1) / view.columns;
  const long result = index / blocks;
  const long column = index % blocks * view.columns;
  const long start = result % view.segments * view.segment;
  Piece piece;
  piece.from = (result / view.segments * view.axis + start) * view.inner + column;
  piece.to = result * view.inner + column;
  piece.depth = min(view.segment, view.axis - start);
  piece.start = start;
  piece.width = (int)min(view.columns, view.inner - column);
  return piece;
}
