// GPU family: how a work-group divides lines of elements along an axis among its items.
//
// A line is one result's elements: those of a segment of the axis. A work-group has view.columns
// lines and view.units items, its lanes, for each; both are powers of two. Many short lines share a
// group, so that no item idles, and one long line has a group of its own. Adjacent items read
// adjacent elements: those of a line where the axis is innermost, otherwise those of adjacent
// lines.
#pragma once

#include "kernels/reduce/axis_args.h"

typedef struct {
  long result;  // [outer][segment][inner]
  long from;    // its first element
  long depth;   // elements; 0 for a line past the last
  long start;   // of the segment along the axis
  int lane;
  int lanes;
  int slot;  // of this lane and line in local memory
  int step;  // between the slots of two lanes of a line
} Line;

static inline Line line_of(const AxisView view) {
  const int item = (int)get_local_id(0), lines = (int)view.columns;
  Line line;
  line.lanes = (int)view.units;
  const int own = view.inner == 1 ? item / line.lanes : item % lines;
  line.lane = view.inner == 1 ? item % line.lanes : item / lines;
  line.slot = line.lane * lines + own;
  line.step = lines;
  line.result = (long)get_group_id(0) * lines + own;
  const long row = line.result / view.inner, column = line.result % view.inner;
  line.start = row % view.segments * view.segment;
  line.from = (row / view.segments * view.axis + line.start) * view.inner + column;
  const bool there = line.result < view.outer * view.segments * view.inner;
  line.depth = there ? min(view.segment, view.axis - line.start) : 0;
  return line;
}
