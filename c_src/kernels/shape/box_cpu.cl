// Moves boxes of elements by strides, and pads tensors, CPU family.
//
//   move_box   out[box] = in[box]: slices, repeats, reversals, parts of a whole
//   pad        out[i] = in[(i - low) / step] where there is such an element, and value elsewhere
//
//   T          an unsigned type of the element's size
//   box, view  see box_args.h
//
// A work-group is one item and owns `chunk` elements of the box, or of the padded output, divided
// into runs along the innermost dimension. Large outputs use non-temporal stores, see
// stream_cpu.cl. Edge rule: the last chunk ends at `count`. Preconditions: in and out do not
// overlap; the box is within both; dims > 0.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/common/loops.h"
#include "kernels/common/stream_cpu.cl"
#include "kernels/shape/box_args.h"

#define STREAM_RUN 4096  // bytes of a run from which on it is stored as whole cache lines

static inline void copy_run(__global const T *from, __global T *to, const long run,
                            const bool stream) {
  long j = 0;
  if (stream) {
    const long per_block = STREAM_BLOCK / sizeof(T);
    const long skipped = min(to_next_line(to) / (long)sizeof(T), run);
    for (; j < skipped; ++j) to[j] = from[j];
    for (; j + per_block <= run; j += per_block) {
      T block[STREAM_BLOCK / sizeof(T)] __attribute__((aligned(64)));
      for (int k = 0; k < STREAM_BLOCK / (int)sizeof(T); ++k) block[k] = from[j + k];
      stream_block(block, to + j);
    }
  }
  INDEPENDENT_LOOP
  for (long k = j; k < run; ++k) to[k] = from[k];
}

SINGLE_ITEM_KERNEL void move_box(__global const T *restrict in, __global T *restrict out,
                                 const BoxMove box) {
  const long begin = (long)get_group_id(0) * box.chunk;
  const long end = min(begin + box.chunk, box.count);
  if (begin >= end) return;

  const long length = box.dims[0];
  const long in_step = box.in_strides[0], out_step = box.out_strides[0];
  const bool stream = in_step == 1 && out_step == 1 && streams(box.count * sizeof(T)) &&
                      length * (long)sizeof(T) >= STREAM_RUN;
  long position[BOX_RANK];
  long from = box.from, to = box.to;
  long rest = begin / length;
  for (long d = 1; d < box.rank; ++d) {
    position[d] = rest % box.dims[d];
    rest /= box.dims[d];
    from += position[d] * box.in_strides[d];
    to += position[d] * box.out_strides[d];
  }
  long column = begin % length;
  for (long i = begin; i < end;) {
    const long run = min(length - column, end - i);
    __global const T *source = in + from + column * in_step;
    __global T *target = out + to + column * out_step;
    if (in_step == 1 && out_step == 1) {
      copy_run(source, target, run, stream);
    } else if (in_step == 0 && out_step == 1) {
      const T element = *source;
      for (long j = 0; j < run; ++j) target[j] = element;
    } else if (in_step == -1 && out_step == 1) {
      INDEPENDENT_LOOP
      for (long j = 0; j < run; ++j) target[j] = source[-j];
    } else {
      for (long j = 0; j < run; ++j) target[j * out_step] = source[j * in_step];
    }
    i += run;
    column = 0;
    for (long d = 1; d < box.rank; ++d) {
      from += box.in_strides[d];
      to += box.out_strides[d];
      if (++position[d] < box.dims[d]) break;
      position[d] = 0;
      from -= box.dims[d] * box.in_strides[d];
      to -= box.dims[d] * box.out_strides[d];
    }
  }
  if (stream) end_stream();
}

// Writes a run of the padded output from column `column` on; `row` is the corresponding input row.
static inline void pad_run(__global const T *row, __global T *to, const long column, const long run,
                           const PadView view, const T value, const bool stream) {
  const long step = view.step[0], low = view.low[0];
  // Columns `first` to `last` have an input element.
  const long first = clamp(low - column, 0L, run);
  const long last = clamp(low + (view.in_dims[0] - 1) * step + 1 - column, first, run);
  for (long j = 0; j < first; ++j) to[j] = value;
  if (step == 1) {
    if (first < last) copy_run(row + (column + first - low), to + first, last - first, stream);
  } else {
    for (long j = first; j < last; ++j) to[j] = value;
    const long behind = (column + first - low) % step;
    long j = first + (behind == 0 ? 0 : step - behind);
    for (long k = (column + j - low) / step; j < last; j += step, ++k) to[j] = row[k];
  }
  for (long j = last; j < run; ++j) to[j] = value;
}

SINGLE_ITEM_KERNEL void pad(__global const T *restrict in, __global T *restrict out,
                            const PadView view, const T value) {
  const long begin = (long)get_group_id(0) * view.chunk;
  const long end = min(begin + view.chunk, view.count);
  const long length = view.dims[0];
  const bool stream =
      streams(view.count * sizeof(T)) && view.in_dims[0] * (long)sizeof(T) >= STREAM_RUN;
  for (long i = begin; i < end;) {
    const long column = i % length;
    const long run = min(length - column, end - i);
    long rest = i / length;
    long from = 0;
    bool inside = view.in_dims[0] > 0;
    for (long d = 1; d < view.rank; ++d) {
      const long at = rest % view.dims[d] - view.low[d];
      rest /= view.dims[d];
      const long element = at / view.step[d];
      inside = inside && at >= 0 && at % view.step[d] == 0 && element < view.in_dims[d];
      from += element * view.in_strides[d];
    }
    if (inside) {
      pad_run(in + from, out + i, column, run, view, value, stream);
    } else {
      for (long j = 0; j < run; ++j) out[i + j] = value;
    }
    i += run;
  }
  if (stream) end_stream();
}
