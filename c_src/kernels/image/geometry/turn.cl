// Rotation: out[y][x] is the bilinear interpolation of in at the position of (y, x); pixels outside
// of the input count as 0 in every channel.
//
//   in, out   pixels of CHANNELS elements of type T; u8 is rounded to nearest
//   view      see move_args.h
//
// Each item owns view.strip rows (CPU class), or one pixel if view.strip is 0. Edge rule: items
// past the output's edges do nothing. in and out do not overlap.

#include "kernels/common/paste.h"
#include "kernels/image/geometry/move_args.h"
#include "kernels/image/pixels/pixels.cl"

#if T_FLOAT
#define TURNED(x) (x)
#else
#define TURNED(x) (T)(int)((x) + HALF)
#endif

// The channels of a pixel; missing channels are 0.
static inline float4 PASTE(ENTRY, _at)(__global const T *from) {
#if CHANNELS == 4 && defined(__clang__)
  typedef PASTE(T, 4) Loose __attribute__((aligned(sizeof(T))));
  return __builtin_convertvector(*(__global const Loose *)from, float4);
#elif CHANNELS == 4
  return (float4)(from[0], from[1], from[2], from[3]);
#elif CHANNELS == 3
  return (float4)(from[0], from[1], from[2], 0.0f);
#else
  return (float4)(from[0], 0.0f, 0.0f, 0.0f);
#endif
}
#define PIXEL_AT PASTE(ENTRY, _at)

static inline float4 PASTE(ENTRY, _pixel)(__global const T *in, const Turn view, const float x,
                                          const float y) {
  // All four pixels are outside; this also keeps the following conversions within int.
  if (!(x > -1 && y > -1 && x < (float)view.in_width && y < (float)view.in_height)) {
    return (float4)(0.0f);
  }
  // The operand is not below 0, so that truncating rounds down.
  const int x0 = (int)(x + 1) - 1, y0 = (int)(y + 1) - 1;
  const float tx = x - (float)x0, ty = y - (float)y0;
  const long row = view.in_width * CHANNELS;
  const bool left = x0 >= 0 && x0 < view.in_width, right = x0 + 1 < view.in_width;
  const bool top = y0 >= 0 && y0 < view.in_height, bottom = y0 + 1 < view.in_height;
  __global const T *at = in + y0 * row + x0 * CHANNELS;
  float4 p00 = (float4)(0.0f), p01 = p00, p10 = p00, p11 = p00;
  if (left && right && top && bottom) {
    p00 = PIXEL_AT(at);
    p01 = PIXEL_AT(at + CHANNELS);
    p10 = PIXEL_AT(at + row);
    p11 = PIXEL_AT(at + row + CHANNELS);
  } else {
    if (top && left) p00 = PIXEL_AT(at);
    if (top && right) p01 = PIXEL_AT(at + CHANNELS);
    if (bottom && left) p10 = PIXEL_AT(at + row);
    if (bottom && right) p11 = PIXEL_AT(at + row + CHANNELS);
  }
  const float4 above = fma((float4)(tx), p01 - p00, p00), below = fma((float4)(tx), p11 - p10, p10);
  return fma((float4)(ty), below - above, above);
}

__kernel void ENTRY(__global const T *restrict in, __global T *restrict out, const Turn view) {
  const long item = (long)get_global_id(0);
  const long pixels = view.height * view.width, chunk = view.strip * view.width;
  const long begin = chunk == 0 ? item : item * chunk;
  const long end = min(chunk == 0 ? item + 1 : begin + chunk, pixels);
  for (long i = begin; i < end;) {
    const long row = i / view.width, column = i % view.width;
    const float x_0 = fma((float)row, view.to_x[1], view.x_0);
    const float y_0 = fma((float)row, view.to_y[1], view.y_0);
    const long run = min(view.width - column, end - i);
    for (long j = 0; j < run; ++j) {
      const float x = (float)(column + j);
      const float4 made =
          PASTE(ENTRY, _pixel)(in, view, fma(x, view.to_x[0], x_0), fma(x, view.to_y[0], y_0));
      __global T *to = out + (i + j) * CHANNELS;
      to[0] = TURNED(made.x);
#if CHANNELS > 1
      to[1] = TURNED(made.y);
      to[2] = TURNED(made.z);
#endif
#if CHANNELS == 4
      to[3] = TURNED(made.w);
#endif
    }
    i += run;
  }
}

#undef PIXEL_AT
#undef TURNED
