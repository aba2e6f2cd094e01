// Resizes a u8 image, bilinear, CPU family.
//
//   line[x][c]   = (1 - ty) * in[y0][x][c] + ty * in[y0 + 1][x][c]
//   out[y][x][c] = (1 - tx) * line[x0][c] + tx * line[x0 + 1][c]
//
//   in, out   images of 1, 3 or 4 channels
//   view      their sizes, and the columns and rows of the result per work-group
//   line      local memory: words for all columns of the image that the tile needs, one more on
//             each side, and a pixel to read past the end
//   places    local memory: view.columns: the offset of each column in the line, in elements
//   weights   local memory: 4 * view.columns: 1 - tx of each column, four times (once if there is
//             one channel)
//
// A work-group is one item. Weights are in units of 2^-16 and levels in units of 1/256; of their
// products the high half is kept, see words_cpu.cl: the error of a result before rounding is less
// than a hundredth of a level. Edge rule: a pixel past an edge repeats the one at the edge.
// Preconditions: no extent is 0; in and out do not overlap; range is {ceil(out_width / columns),
// ceil(out_height / rows)}.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/image/filter/words_cpu.cl"
#include "kernels/image/resample/resample.cl"

#define PIXELS 8

#ifdef __clang__
typedef ushort PixelWords __attribute__((ext_vector_type(32)));
typedef uint PixelWide __attribute__((ext_vector_type(32)));
typedef uchar PixelBytes __attribute__((ext_vector_type(32)));
typedef ulong2 LoosePair __attribute__((aligned(2)));
typedef PixelWords LooseWords __attribute__((aligned(2)));
typedef PixelBytes LooseResult __attribute__((aligned(1)));
typedef ulong LooseLong __attribute__((aligned(2)));
typedef uint LooseInt __attribute__((aligned(2)));
typedef ushort16 LooseWeights __attribute__((aligned(2)));
typedef uchar16 LooseSixteen __attribute__((aligned(1)));
typedef uchar8 LooseEight __attribute__((aligned(1)));
#define HIGH(a, b)                                                                            \
  __builtin_convertvector(                                                                    \
      (__builtin_convertvector(a, PixelWide) * __builtin_convertvector(b, PixelWide)) >> 16u, \
      PixelWords)

// Interpolates eight pixels of four words from those to their left and right.
static inline PixelBytes mixed(const ulong8 left, const ulong8 right,
                               __local const ushort *weights) {
  const PixelWords weight = *(__local const LooseWords *)weights;
  const PixelWords other = (PixelWords)((ushort)0) - weight;
  const PixelWords sum = HIGH(__builtin_astype(left, PixelWords), weight) +
                         HIGH(__builtin_astype(right, PixelWords), other);
  return __builtin_convertvector((sum + (PixelWords)((ushort)129)) >> (ushort)8, PixelBytes);
}

// Loads two adjacent pixels of the line at each of eight positions, and interpolates them.
#define PAIR_AT(i) (*(__local const LoosePair *)(line + places[i]))
static inline PixelBytes eight_pixels(__local const ushort *line, __local const int *places,
                                      __local const ushort *weights) {
  const ulong8 even = (ulong8)(PAIR_AT(0), PAIR_AT(2), PAIR_AT(4), PAIR_AT(6));
  const ulong8 odd = (ulong8)(PAIR_AT(1), PAIR_AT(3), PAIR_AT(5), PAIR_AT(7));
  return mixed(__builtin_shufflevector(even, odd, 0, 8, 2, 10, 4, 12, 6, 14),
               __builtin_shufflevector(even, odd, 1, 9, 3, 11, 5, 13, 7, 15), weights);
}

// The same for pixels of three channels, loaded as four: the fourth is the first of the next pixel.
#define PIXEL_AT(i, shift) (*(__local const LooseLong *)(line + places[i] + (shift)))
#define PIXELS_AT(shift)                                                                   \
  (ulong8)(PIXEL_AT(0, shift), PIXEL_AT(1, shift), PIXEL_AT(2, shift), PIXEL_AT(3, shift), \
           PIXEL_AT(4, shift), PIXEL_AT(5, shift), PIXEL_AT(6, shift), PIXEL_AT(7, shift))
static inline void eight_colours(__local const ushort *line, __local const int *places,
                                 __local const ushort *weights, __global uchar *to) {
  const PixelBytes all = mixed(PIXELS_AT(0), PIXELS_AT(3), weights);
  *(__global LooseSixteen *)to =
      __builtin_shufflevector(all, all, 0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 16, 17, 18, 20);
  *(__global LooseEight *)(to + 16) =
      __builtin_shufflevector(all, all, 21, 22, 24, 25, 26, 28, 29, 30);
}

// The same for pixels of one channel: a word and the next one are loaded as 32 bits.
#define TWO_AT(i) (*(__local const LooseInt *)(line + places[i]))
static inline uchar16 sixteen_levels(__local const ushort *line, __local const int *places,
                                     __local const ushort *weights) {
  const uint16 pairs = (uint16)(TWO_AT(0), TWO_AT(1), TWO_AT(2), TWO_AT(3), TWO_AT(4), TWO_AT(5),
                                TWO_AT(6), TWO_AT(7), TWO_AT(8), TWO_AT(9), TWO_AT(10), TWO_AT(11),
                                TWO_AT(12), TWO_AT(13), TWO_AT(14), TWO_AT(15));
  const uint16 weight = __builtin_convertvector(*(__local const LooseWeights *)weights, uint16);
  const uint16 sum = ((pairs & 0xffffu) * weight + (pairs >> 16u) * (65536u - weight)) >> 16u;
  return __builtin_convertvector((sum + 129u) >> 8u, uchar16);
}
#endif

// The same for one element.
static inline uchar one_level(__local const ushort *at, const int channels, const ushort weight) {
  const ushort right = (ushort)(0 - weight);
  const uint sum = (((uint)at[0] * weight) >> 16) + (((uint)at[channels] * right) >> 16);
  return (uchar)((sum + 129) >> 8);
}

// The weight of the left or upper pixel, which is neither 0 nor 1, so that the other weight is its
// complement to 2^16. `scale` is 2^16 / walk.whole, since a division is slow.
static inline ushort left_weight(const Walk walk, const float scale) {
  return (ushort)clamp(65536 - (int)((float)walk.rest * scale + 0.5f), 1, 65535);
}

static inline void mix_rows(__global const uchar *above, __global const uchar *below,
                            const int count, const ushort weight, __local ushort *to) {
  const ushort other = (ushort)(0 - weight);
  int x = 0;
  for (; x + VALUE_LANES <= count; x += VALUE_LANES) {
    const Values top = LOAD_LEVELS(above + x) << (ushort)8;
    const Values bottom = LOAD_LEVELS(below + x) << (ushort)8;
    STORE_SUMS(high(top, (Values)(weight)) + high(bottom, (Values)(other)) + (Values)((ushort)1),
               to + x);
  }
  for (; x < count; ++x) {
    to[x] =
        (ushort)(high((ushort)(above[x] << 8), weight) + high((ushort)(below[x] << 8), other) + 1);
  }
}

SINGLE_ITEM_KERNEL void bilinear(__global const uchar *restrict in, __global uchar *restrict out,
                                 const Resample view, __local ushort *line, __local int *places,
                                 __local ushort *weights) {
  const int channels = (int)view.channels, height = (int)view.height, width = (int)view.width;
  const long row_elements = view.width * view.channels;
  const int column0 = (int)get_group_id(0) * view.columns;
  const int count = (int)min((long)view.columns, view.out_width - column0);
  const long row0 = (long)get_group_id(1) * view.rows;
  const long row_end = min(row0 + view.rows, view.out_height);

  // The line holds columns first..end of the image, from -1 to width.
  Walk walk = walk_from(column0, view.width, view.out_width);
  const int first = walk.base;
  const int copies = channels == 1 ? 1 : 4;
  const int steps = (int)(view.width / view.out_width);
  const uint more = (uint)(2 * (view.width % view.out_width));
  const float scale = 65536.0f / (float)walk.whole;
  for (int x = 0; x < count; ++x) {
    places[x] = (walk.base - first) * channels;
    const ushort weight = left_weight(walk, scale);
    for (int c = 0; c < copies; ++c) weights[copies * x + c] = weight;
    walk_on(&walk, steps, more);
  }
  const int end = walk_from(column0 + count - 1, view.width, view.out_width).base + 2;
  const int inside = max(first, 0), inside_end = min(end, width);
  const int loaded = (inside_end - inside) * channels;
  // Elements that are read past the end of the line, but not used.
  for (int i = 0; i < 8; ++i) line[(end - first) * channels + i] = 0;

  walk = walk_from(row0, view.height, view.out_height);
  const int row_steps = (int)(view.height / view.out_height);
  const uint row_more = (uint)(2 * (view.height % view.out_height));
  const float row_scale = 65536.0f / (float)walk.whole;
  for (long row = row0; row < row_end; ++row) {
    __global const uchar *above = in + clamp(walk.base, 0, height - 1) * row_elements;
    __global const uchar *below = in + clamp(walk.base + 1, 0, height - 1) * row_elements;
    mix_rows(above + inside * channels, below + inside * channels, loaded,
             left_weight(walk, row_scale), line + (inside - first) * channels);
    for (int c = 0; c < channels; ++c) {
      if (first < 0) line[c] = line[channels + c];
      if (end > width) {
        line[(width - first) * channels + c] = line[(width - 1 - first) * channels + c];
      }
    }
    __global uchar *to = out + (row * view.out_width + column0) * channels;
    int x = 0;
#ifdef __clang__
    for (; channels == 1 && x + 2 * PIXELS <= count; x += 2 * PIXELS) {
      *(__global LooseSixteen *)(to + x) = sixteen_levels(line, places + x, weights + x);
    }
    for (; channels == 3 && x + PIXELS <= count; x += PIXELS) {
      eight_colours(line, places + x, weights + 4 * x, to + 3 * x);
    }
    for (; channels == 4 && x + PIXELS <= count; x += PIXELS) {
      *(__global LooseResult *)(to + 4 * x) = eight_pixels(line, places + x, weights + 4 * x);
    }
#endif
    for (; x < count; ++x) {
      for (int c = 0; c < channels; ++c) {
        to[x * channels + c] = one_level(line + places[x] + c, channels, weights[copies * x]);
      }
    }
    walk_on(&walk, row_steps, row_more);
  }
}
