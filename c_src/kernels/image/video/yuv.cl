// Video frames, one byte per sample: a plane of luma {height, width}, then chroma at half the
// resolution in both directions, rounded up; either a plane of u and one of v (yuv420p), or one
// plane of interleaved u and v (nv12).
//
//   coefficients of decoding: r = y * gain + v * r_v + r_0, g = y * gain + u * g_u + v * g_v + g_0,
//   b = y * gain + u * b_u + b_0. Chroma is that of the nearest sample: one for 2 x 2 pixels.
//   coefficients of encoding: y = (r, g, b) . to_y + y_0; u and v likewise, of the mean of 2 x 2
//   pixels, or of fewer at odd edges, with an offset of 128.
//
// All values are u8 levels. Results are rounded to nearest, halves up, and saturated.
#pragma once

#include "kernels/image/pixels/pixels.cl"
#include "kernels/image/video/yuv_args.h"

static inline uchar nearest_level(const float x) {
  return (uchar)(int)clamp(x + HALF, 0.0f, 255.0f);
}

// The offset of u of the pixels in row 2 * block_row, the stride of samples, and the offset of v
// from u.
static inline long chroma_offset(const long height, const long width, const long interleaved,
                                 const long block_row) {
  return height * width + block_row * ((width + 1) / 2) * (interleaved ? 2 : 1);
}
static inline long chroma_step(const long interleaved) { return interleaved ? 2 : 1; }
static inline long v_distance(const long height, const long width, const long interleaved) {
  return interleaved ? 1 : ((width + 1) / 2) * ((height + 1) / 2);
}

// Decodes one pixel to four bytes.
static inline void decode_pixel(const float y, const float u, const float v, const Decoding view,
                                __global uchar *to) {
  to[0] = nearest_level(fma(y, view.gain, fma(v, view.r_v, view.r_0)));
  to[1] = nearest_level(fma(y, view.gain, fma(u, view.g_u, fma(v, view.g_v, view.g_0))));
  to[2] = nearest_level(fma(y, view.gain, fma(u, view.b_u, view.b_0)));
  to[3] = 255;
}

static inline float weighted(const float r, const float g, const float b, const float w0,
                             const float w1, const float w2, const float w3) {
  return fma(r, w0, fma(g, w1, fma(b, w2, w3)));
}
#define WEIGHTED(r, g, b, to) weighted(r, g, b, (to)[0], (to)[1], (to)[2], (to)[3])

// Encodes the 2 x 2 pixels of block (row, column): their luma, and the chroma of their mean.
static inline void encode_block(__global const uchar *in, __global uchar *out, const Encoding view,
                                const long row, const long column) {
  float r = 0, g = 0, b = 0, count = 0;
  for (long y = 2 * row; y < min(2 * row + 2, view.height); ++y) {
    for (long x = 2 * column; x < min(2 * column + 2, view.width); ++x) {
      __global const uchar *from = in + (y * view.width + x) * 4;
      out[y * view.width + x] =
          nearest_level(WEIGHTED((float)from[0], (float)from[1], (float)from[2], view.to_y));
      r += from[0];
      g += from[1];
      b += from[2];
      count += 1;
    }
  }
  const float share = 1.0f / count;
  __global uchar *u = out + chroma_offset(view.height, view.width, view.interleaved, row) +
                      column * chroma_step(view.interleaved);
  u[0] = nearest_level(WEIGHTED(r * share, g * share, b * share, view.to_u));
  u[v_distance(view.height, view.width, view.interleaved)] =
      nearest_level(WEIGHTED(r * share, g * share, b * share, view.to_v));
}
