// out[b][o][y][x] = activation(bias[o] + sum over ky, kx of weights[o][ky][kx] * in[b][i][..][..])
// for groups of one input channel, i being the channel of the group of o, CPU family. The arguments
// are those of conv2d_cpu.cl.
//
//   strip        local memory for two areas: the padded input of strip_rows output rows, and with
//                `flat` the results; each as large as the padded input plus LANES elements
//
//   strip_rows   output rows per piece of work
//   strips       pieces per plane
//   units        pieces per work-group
//   pitch        elements per row of the padded input, of each phase
//   flat         1: all rows of a piece are computed as one long row; stride 1 only
//
// A work-group is one item. It copies the input rows of a piece into local memory, with zeros
// around them, one copy per phase of the columns (column % stride_x), so that adjacent outputs read
// adjacent elements and no access needs a bounds check. Windows of 3 x 3 that slide by 1 or 2 rows
// move down the plane with three rows of vectors in registers. Planes narrower than a vector are
// computed flat: the results for the padding between rows are not stored.
//
// Edge rules: the last vector of a row starts early, so that it ends with the row; rows shorter
// than a vector are stored element by element. Preconditions: in_channels is 1; no extent is 0; out
// overlaps no input; range is ceil(planes * strips / units).
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/nn/activation/activation.cl"
#include "kernels/nn/conv/convolution_args.h"
#include "kernels/nn/conv/vectors_cpu.cl"
#include "kernels/nn/window.cl"

// Fills `rows` rows of the padded input, from row `first` of the plane on, in ascending order.
// `left` is the number of input elements from the plane on.
static inline void fill_strip(__global const T *plane, const long left, const Window window,
                              const long first, const int rows, const int pitch, __local T *strip) {
  const int inside = (int)clamp(window.height - first, 0L, (long)rows);
  for (int phase = 0; phase < window.stride_x; ++phase) {
    const long shift = phase - window.pad_x;
    const int low = first_inside(shift, window.stride_x, pitch);
    const int high = max(low, end_inside(shift, window.stride_x, window.width, pitch));
    int r = 0;
    for (; r < rows && first + r < 0; ++r, strip += pitch) clear_run(pitch, strip);
    long start = (first + r) * window.width + low * window.stride_x + shift;
    // A narrow row takes three stores, each overwriting the excess of the one before.
    const bool narrow = low <= LANES && high - low <= LANES && pitch - high <= LANES;
    if (narrow && window.stride_x == 1) {
      for (; r < inside && start + LANES <= left; ++r, strip += pitch, start += window.width) {
        STORE((VECTOR)(0), strip);
        STORE(LOAD(plane + start), strip + low);
        STORE((VECTOR)(0), strip + high);
      }
    } else if (narrow && window.stride_x == 2) {
      for (; r < inside && start + 2 * LANES <= left; ++r, strip += pitch, start += window.width) {
        const VECTOR front = LOAD(plane + start), back = LOAD(plane + start + LANES);
        STORE((VECTOR)(0), strip);
        STORE((VECTOR)(front.even, back.even), strip + low);
        STORE((VECTOR)(0), strip + high);
      }
    }
    for (; r < inside; ++r, strip += pitch, start += window.width) {
      clear_run(low, strip);
      if (window.stride_x == 1) {
        copy_run(plane + start, left - start, high - low, strip + low);
      } else if (window.stride_x == 2) {
        copy_every_second(plane + start, left - start, high - low, strip + low);
      } else {
        for (int i = low; i < high; ++i) strip[i] = plane[start + (i - low) * window.stride_x];
      }
      clear_run(pitch - high, strip + high);
    }
    for (; r < rows; ++r, strip += pitch) clear_run(pitch, strip);
  }
}

#define FOR_COLUMNS(DO, row) DO(row, 0) DO(row, 1) DO(row, 2)
#define LOAD_TAP(row, kx) row##kx = LOAD(from_##row + at##kx);
#define LOAD_ROW(row, pointer)             \
  {                                        \
    __local const T *from_##row = pointer; \
    FOR_COLUMNS(LOAD_TAP, row)             \
  }
#define SUM_3X3                                                                              \
  fma(a0, w0, fma(a1, w1, fma(a2, w2, (VECTOR)(bias)))) + fma(b0, w3, fma(b1, w4, b2 *w5)) + \
      fma(c0, w6, fma(c1, w7, c2 *w8))

// Results of 3 x 3 windows down a column of vectors: `rows` rows, `count` elements each.
static inline void slide_3x3(__local const T *strip, const int pitch, const int stride_y,
                             const int at0, const int at1, const int at2, __global const T *weights,
                             const T bias, __global T *out, const long out_width, const int rows,
                             const int count, const T low, const T high) {
  // Rows narrower than a vector overwrite the excess of the row before.
  const long room = count < LANES ? out_width * rows : LONG_MAX;
  const VECTOR w0 = (VECTOR)(weights[0]), w1 = (VECTOR)(weights[1]), w2 = (VECTOR)(weights[2]);
  const VECTOR w3 = (VECTOR)(weights[3]), w4 = (VECTOR)(weights[4]), w5 = (VECTOR)(weights[5]);
  const VECTOR w6 = (VECTOR)(weights[6]), w7 = (VECTOR)(weights[7]), w8 = (VECTOR)(weights[8]);
  VECTOR a0, a1, a2, b0, b1, b2, c0, c1, c2;
  LOAD_ROW(a, strip)
  if (stride_y == 1) {
    LOAD_ROW(b, strip + pitch)
    strip += 2 * pitch;
    for (int r = 0; r < rows; ++r, strip += pitch, out += out_width) {
      LOAD_ROW(c, strip)
      const VECTOR sum = SUM_3X3;
      store_part(ACTIVATED(sum, (VECTOR)(low), (VECTOR)(high)), out, count, room - r * out_width);
      a0 = b0, a1 = b1, a2 = b2;
      b0 = c0, b1 = c1, b2 = c2;
    }
  } else {
    strip += pitch;
    for (int r = 0; r < rows; ++r, strip += 2 * pitch, out += out_width) {
      LOAD_ROW(b, strip)
      LOAD_ROW(c, strip + pitch)
      const VECTOR sum = SUM_3X3;
      store_part(ACTIVATED(sum, (VECTOR)(low), (VECTOR)(high)), out, count, room - r * out_width);
      a0 = c0, a1 = c1, a2 = c2;
    }
  }
}

// One vector of results of windows of any size.
static inline VECTOR window_sum(__local const T *strip, const Window window, const int pitch,
                                const int phase_pitch, __global const T *weights, const T bias) {
  VECTOR sum = (VECTOR)(bias);
  const int stride = (int)window.stride_x;
  for (int ky = 0; ky < window.size_y; ++ky, strip += (int)window.dilation_y * pitch) {
    int phase = 0, place = 0;  // of column kx * dilation_x, and its index within the phase
    for (int kx = 0; kx < window.size_x; ++kx) {
      sum = fma((VECTOR)(*weights++), LOAD(strip + phase * phase_pitch + place), sum);
      for (phase += (int)window.dilation_x; phase >= stride; phase -= stride) ++place;
    }
  }
  return sum;
}

// All rows of a piece as one row, into `results`.
static inline void flat_windows(__local const T *strip, const Window window, const int pitch,
                                __global const T *weights, const T bias, const int length,
                                __local T *results, const T low, const T high) {
  if (window.size_y == 3 && window.size_x == 3) {
    const VECTOR w0 = (VECTOR)(weights[0]), w1 = (VECTOR)(weights[1]), w2 = (VECTOR)(weights[2]);
    const VECTOR w3 = (VECTOR)(weights[3]), w4 = (VECTOR)(weights[4]), w5 = (VECTOR)(weights[5]);
    const VECTOR w6 = (VECTOR)(weights[6]), w7 = (VECTOR)(weights[7]), w8 = (VECTOR)(weights[8]);
    const int at0 = 0, at1 = (int)window.dilation_x, at2 = 2 * at1;
    const int row_pitch = (int)window.dilation_y * pitch;
    for (int i = 0; i < length; i += LANES, strip += LANES) {
      VECTOR a0, a1, a2, b0, b1, b2, c0, c1, c2;
      LOAD_ROW(a, strip)
      LOAD_ROW(b, strip + row_pitch)
      LOAD_ROW(c, strip + 2 * row_pitch)
      const VECTOR sum = SUM_3X3;
      STORE(ACTIVATED(sum, (VECTOR)(low), (VECTOR)(high)), results + i);
    }
    return;
  }
  for (int i = 0; i < length; i += LANES) {
    const VECTOR sum = window_sum(strip + i, window, pitch, 0, weights, bias);
    STORE(ACTIVATED(sum, (VECTOR)(low), (VECTOR)(high)), results + i);
  }
}

// Copies rows of `width`, less than a vector, out of rows of `pitch`. Vectors extend into rows that
// are written next, but never past the last row, where another work-group may write.
static inline void store_rows(__local const T *results, const int pitch, __global T *out,
                              const int width, const int rows) {
  int r = 0;
  for (; width * (rows - r) >= LANES; ++r, results += pitch, out += width) {
    STORE(LOAD(results), out);
  }
  for (; r < rows; ++r, results += pitch, out += width) {
    for (int i = 0; i < width; ++i) out[i] = results[i];
  }
}

SINGLE_ITEM_KERNEL void conv2d_depthwise(__global const T *restrict in,
                                         __global const T *restrict weights,
                                         __global const T *restrict bias, __global T *restrict out,
                                         const Convolution conv, const T low, const T high,
                                         __local T *strip) {
  const Window window = conv.window;
  const long pieces = conv.slices * conv.out_channels * conv.strips;
  const long first = (long)get_group_id(0) * conv.units;
  const long end = min(first + conv.units, pieces);
  const int pitch = (int)conv.pitch;
  const int span = (int)((window.size_y - 1) * window.dilation_y) + 1;
  const int width = (int)window.out_width;
  const long total = conv.slices * window.height * window.width;
  // Whether rows can be kept in registers.
  const bool slides =
      window.size_y == 3 && window.size_x == 3 && window.dilation_y == 1 && window.stride_y <= 2;
  const int stride = (int)window.stride_x, dilation = (int)window.dilation_x;

  for (long piece = first; piece < end; ++piece) {
    const long plane = piece / conv.strips;
    const long channel = plane % (conv.groups * conv.out_channels);
    const long row0 = piece % conv.strips * conv.strip_rows;
    const int rows = (int)min(conv.strip_rows, window.out_height - row0);
    const int in_rows = (rows - 1) * (int)window.stride_y + span;
    __global const T *from = in + plane / conv.out_channels * window.height * window.width;
    __global T *to = out + (plane * window.out_height + row0) * width;
    __global const T *own = weights + channel * window.size_y * window.size_x;
    const T own_bias = conv.has_bias ? bias[channel] : (T)0;

    const int phase_pitch = in_rows * pitch, filled = stride * phase_pitch;
    const int at1 = dilation % stride * phase_pitch + dilation / stride;
    const int at2 = 2 * dilation % stride * phase_pitch + 2 * dilation / stride;
    fill_strip(from, total - (from - in), window, row0 * window.stride_y - window.pad_y, in_rows,
               pitch, strip);
    clear_run(LANES, strip + filled);
    if (conv.flat) {
      __local T *results = strip + filled + LANES;
      flat_windows(strip, window, pitch, own, own_bias, rows * pitch, results, low, high);
      store_rows(results, pitch, to, width, rows);
      continue;
    }
    for (int x = 0; x < width; x += LANES) {
      const int at = x + LANES <= width ? x : max(0, width - LANES);
      const int count = min(LANES, width - at);
      if (slides) {
        slide_3x3(strip + at, pitch, (int)window.stride_y, 0, at1, at2, own, own_bias, to + at,
                  width, rows, count, low, high);
        continue;
      }
      for (int r = 0; r < rows; ++r) {
        const VECTOR sum = window_sum(strip + r * (int)window.stride_y * pitch + at, window, pitch,
                                      phase_pitch, own, own_bias);
        store_part(ACTIVATED(sum, (VECTOR)(low), (VECTOR)(high)), to + r * width + at, count,
                   count < LANES ? (long)width * (rows - r) : LANES);
      }
    }
  }
}
