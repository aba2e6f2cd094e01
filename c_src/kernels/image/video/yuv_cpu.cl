// Decodes and encodes video frames, CPU family. The formats are in yuv.cl; images are RGBA.
//
// A work-group is one item and owns view.strip pairs of rows, which it processes 16 pixels of both
// rows at a time, and the rest 2 x 2 pixels at a time. Edge rules: the last strip ends at
// view.height; with an odd number of rows the last one is a pair with itself. Operands may be
// unaligned; in and out do not overlap.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/image/pixels/pixel_access_cpu.cl"
#include "kernels/image/video/yuv.cl"

#if WORDS
typedef uchar8 LooseHalf __attribute__((aligned(1)));

static inline uint16 word_levels(const float16 x) {
  return TO_LEVELS(at_most(255.0f, at_least(0.0f, x)));
}

// Decodes 16 pixels of one row from their luma and the contribution of chroma to each colour.
static inline void decode_row(__global const uchar *from, const float gain, const float16 r,
                              const float16 g, const float16 b, __global uchar *to) {
  const float16 y = TO_REALS(ELEMENTS_AT(__global, from)), gains = (float16)(gain);
  const uint16 words = word_levels(fma(y, gains, r)) | word_levels(fma(y, gains, g)) << 8u |
                       word_levels(fma(y, gains, b)) << 16u | 0xff000000u;
  put_words_4(words, to);
}

typedef struct {
  float16 r, g, b;
} Colours;

static inline Colours colours_of(const uint16 words) {
  const Colours out = {TO_REALS(words & 255u), TO_REALS(words >> 8u & 255u),
                       TO_REALS(words >> 16u & 255u)};
  return out;
}
static inline uchar16 luma_of(const Colours in, const Encoding view) {
  const float16 y = fma(in.r, (float16)(view.to_y[0]),
                        fma(in.g, (float16)(view.to_y[1]),
                            fma(in.b, (float16)(view.to_y[2]), (float16)(view.to_y[3] + HALF))));
  return __builtin_convertvector(word_levels(y), uchar16);
}
static inline float8 pair_means(const float16 above, const float16 below) {
  const float16 sum = above + below;
  return (sum.even + sum.odd) * 0.25f;
}
static inline uchar8 chroma_of(const float8 r, const float8 g, const float8 b, const float w0,
                               const float w1, const float w2, const float w3) {
  float8 c = fma(r, (float8)(w0), fma(g, (float8)(w1), fma(b, (float8)(w2), (float8)(w3 + HALF))));
  c = c < (float8)(0.0f) ? (float8)(0.0f) : c;
  c = c > (float8)(255.0f) ? (float8)(255.0f) : c;
  return __builtin_convertvector(__builtin_convertvector(c, int8), uchar8);
}
#define CHROMA_OF(r, g, b, to) chroma_of(r, g, b, (to)[0], (to)[1], (to)[2], (to)[3])
#endif

SINGLE_ITEM_KERNEL void yuv_to_rgba(__global const uchar *in, __global uchar *out,
                                    const Decoding view) {
  const long first = (long)get_group_id(0) * view.strip;
  const long end = min(first + view.strip, (view.height + 1) / 2);
  const long step = chroma_step(view.interleaved);
  const long to_v = v_distance(view.height, view.width, view.interleaved);
  for (long row = first; row < end; ++row) {
    const long above = 2 * row * view.width;
    const long below = min(2 * row + 1, view.height - 1) * view.width;
    __global const uchar *chroma =
        in + chroma_offset(view.height, view.width, view.interleaved, row);
    long x = 0;
#if WORDS
    for (; x + 16 <= view.width; x += 16) {
      uchar16 u, v;
      if (view.interleaved) {
        const uchar16 uv = ELEMENTS_AT(__global, chroma + x);
        u = uv.s0022446688aaccee;
        v = uv.s1133557799bbddff;
      } else {
        u = (*(__global const LooseHalf *)(chroma + x / 2)).s0011223344556677;
        v = (*(__global const LooseHalf *)(chroma + to_v + x / 2)).s0011223344556677;
      }
      const float16 us = TO_REALS(u), vs = TO_REALS(v);
      const float16 r = fma(vs, (float16)(view.r_v), (float16)(view.r_0 + HALF));
      const float16 g =
          fma(us, (float16)(view.g_u), fma(vs, (float16)(view.g_v), (float16)(view.g_0 + HALF)));
      const float16 b = fma(us, (float16)(view.b_u), (float16)(view.b_0 + HALF));
      decode_row(in + above + x, view.gain, r, g, b, out + 4 * (above + x));
      decode_row(in + below + x, view.gain, r, g, b, out + 4 * (below + x));
    }
#endif
    for (; x < view.width; ++x) {
      __global const uchar *sample = chroma + x / 2 * step;
      const float u = sample[0], v = sample[to_v];
      decode_pixel((float)in[above + x], u, v, view, out + 4 * (above + x));
      decode_pixel((float)in[below + x], u, v, view, out + 4 * (below + x));
    }
  }
}

SINGLE_ITEM_KERNEL void rgba_to_yuv(__global const uchar *in, __global uchar *out,
                                    const Encoding view) {
  const long first = (long)get_group_id(0) * view.strip;
  const long end = min(first + view.strip, (view.height + 1) / 2);
  const long to_v = v_distance(view.height, view.width, view.interleaved);
  for (long row = first; row < end; ++row) {
    const long above = 2 * row * view.width;
    const long below = min(2 * row + 1, view.height - 1) * view.width;
    __global uchar *chroma = out + chroma_offset(view.height, view.width, view.interleaved, row);
    long x = 0;
#if WORDS
    for (; x + 16 <= view.width; x += 16) {
      const Colours top = colours_of(words_4(in + 4 * (above + x)));
      const Colours bottom = colours_of(words_4(in + 4 * (below + x)));
      PUT_ELEMENTS(__global, luma_of(top, view), out + above + x);
      PUT_ELEMENTS(__global, luma_of(bottom, view), out + below + x);
      const float8 r = pair_means(top.r, bottom.r), g = pair_means(top.g, bottom.g);
      const float8 b = pair_means(top.b, bottom.b);
      const uchar8 u = CHROMA_OF(r, g, b, view.to_u), v = CHROMA_OF(r, g, b, view.to_v);
      if (view.interleaved) {
        PUT_ELEMENTS(__global,
                     (uchar16)(u.s0, v.s0, u.s1, v.s1, u.s2, v.s2, u.s3, v.s3, u.s4, v.s4, u.s5,
                               v.s5, u.s6, v.s6, u.s7, v.s7),
                     chroma + x);
      } else {
        *(__global LooseHalf *)(chroma + x / 2) = u;
        *(__global LooseHalf *)(chroma + to_v + x / 2) = v;
      }
    }
#endif
    for (; x < view.width; x += 2) encode_block(in, out, view, row, x / 2);
  }
}
