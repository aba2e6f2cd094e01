// Elements by index, CPU family.
//
//   gather            out[o][p][i] = in[o][indices[p]][i], an index being a tuple
//   take_along_axis   out[o][p][i] = in[o][indices[o][p][i]][i]
//
//   T      an unsigned type of the element's size
//   I      type of the indices
//   view   see index_args.h
//
// A work-group is one item and owns view.chunk consecutive elements of the output, whole rows if
// they are short. Edge rules: an index out of range gives 0, see indices.cl; the last chunk ends at
// view.count. Preconditions: no dimension of the tensor is 0; nothing overlaps.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/common/loops.h"
#include "kernels/index/indices.cl"

// Pieces of rows as wide as a vector register.
#ifdef __clang__
#define PIECE (32 / (int)sizeof(T))
typedef long Piece __attribute__((vector_size(32), aligned(sizeof(T))));
#define COPY_PIECE(from, to) *(__global Piece *)(to) = *(__global const Piece *)(from)
#else
#define PIECE 1
#define COPY_PIECE(from, to) *(to) = *(from)
#endif

// Single elements with scalar indices: rows of the output without a division per element.
static inline void gather_elements(__global const T *in, __global const I *indices, __global T *out,
                                   const GatherView view, const long begin, const long end) {
  const long size = view.dims[0];
  for (long i = begin; i < end;) {
    const long first = i % view.picks;
    const long run = min(view.picks - first, end - i);
    __global const T *from = in + i / view.picks * view.source;
    for (long j = 0; j < run; ++j) {
      const long at = place_of(indices[first + j], size);
      const T element = from[max(at, 0L)];
      out[i + j] = at < 0 ? (T)0 : element;
    }
    i += run;
  }
}

// Short rows with scalar indices: little work per row keeps the reads of many rows in flight.
static inline void gather_rows(__global const T *in, __global const I *indices, __global T *out,
                               const GatherView view, const long first, const long last) {
  const long size = view.dims[0], inner = view.inner;
  for (long row = first; row < last;) {
    const long pick = row % view.picks;
    const long run = min(view.picks - pick, last - row);
    __global const T *from = in + row / view.picks * view.source;
    __global T *to = out + row * inner;
    for (long n = 0; n < run; ++n, to += inner) {
      const long at = place_of(indices[pick + n], size);
      __global const T *source = from + max(at, 0L) * inner;
      long j = 0;
      for (; j + PIECE <= inner; j += PIECE) COPY_PIECE(source + j, to + j);
      for (; j < inner; ++j) to[j] = source[j];
      if (at < 0) {
        for (long k = 0; k < inner; ++k) to[k] = (T)0;
      }
    }
    row += run;
  }
}

SINGLE_ITEM_KERNEL void gather(__global const T *restrict in, __global const I *restrict indices,
                               __global T *restrict out, const GatherView view) {
  const long begin = (long)get_group_id(0) * view.chunk;
  const long end = min(begin + view.chunk, view.count);
  if (begin >= end) return;
  if (view.inner == 1 && view.depth == 1) {
    gather_elements(in, indices, out, view, begin, end);
    return;
  }
  if (view.depth == 1 && view.chunk % view.inner == 0) {
    gather_rows(in, indices, out, view, begin / view.inner, end / view.inner);
    return;
  }
  long column = begin % view.inner;
  long pick = begin / view.inner % view.picks;
  long outer = begin / view.inner / view.picks;
  for (long i = begin; i < end;) {
    const long run = min(view.inner - column, end - i);
    const long offset = offset_of(indices + pick * view.depth, view.depth, view.dims, view.strides);
    if (offset < 0) {
      for (long j = 0; j < run; ++j) out[i + j] = (T)0;
    } else {
      __global const T *from = in + outer * view.source + offset + column;
      INDEPENDENT_LOOP
      for (long j = 0; j < run; ++j) out[i + j] = from[j];
    }
    i += run;
    column = 0;
    if (++pick == view.picks) {
      pick = 0;
      ++outer;
    }
  }
}

SINGLE_ITEM_KERNEL void take_along_axis(__global const T *restrict in,
                                        __global const I *restrict indices,
                                        __global T *restrict out, const GatherView view) {
  const long begin = (long)get_group_id(0) * view.chunk;
  const long end = min(begin + view.chunk, view.count);
  const long size = view.dims[0];
  const long plane = view.picks * view.inner;
  for (long i = begin; i < end;) {
    // With one column, a whole row has the same base.
    const long within = view.inner == 1 ? i % plane : i % view.inner;
    const long run = min((view.inner == 1 ? plane : view.inner) - within, end - i);
    __global const T *from = in + i / plane * view.source + (view.inner == 1 ? 0 : within);
    const long step = view.inner == 1 ? 0 : 1;
    for (long j = 0; j < run; ++j) {
      const long at = place_of(indices[i + j], size);
      const T element = from[max(at, 0L) * view.inner + j * step];
      out[i + j] = at < 0 ? (T)0 : element;
    }
    i += run;
  }
}
