// out[y][x] = the mean of the four pixels of in around the place of (y, x), weighted by how near
// they are; pixels outside of the input count as 0 in every channel.
//
//   in, out   pixels of CHANNELS elements of type T; bytes are rounded to nearest
//   view      see move.cl
//
// An item owns view.strip rows (CPU class) or, where that is 0, a pixel. Edge rule: items past the
// output's edges do nothing. in and out do not overlap.

#if T_FLOAT
#define TURNED(x) (x)
#else
#define TURNED(x) (T)(int)((x) + HALF)
#endif

static inline void PASTE(ENTRY, _pixel)(__global const T *in, __global T *out, const Turn view,
                                        const float x, const float y) {
  const float fx = floor(x), fy = floor(y);
  // Far outside, so that what follows stays within integers.
  if (!(fx >= -1 && fy >= -1 && fx < (float)view.in_width && fy < (float)view.in_height)) {
    for (int c = 0; c < CHANNELS; ++c) out[c] = 0;
    return;
  }
  const long x0 = (long)fx, y0 = (long)fy;
  const bool left = x0 >= 0 && x0 < view.in_width, right = x0 + 1 < view.in_width;
  const bool top = y0 >= 0 && y0 < view.in_height, bottom = y0 + 1 < view.in_height;
  const float tx = x - fx, ty = y - fy;
  const long row = view.in_width * CHANNELS;
  __global const T *at = in + y0 * row + x0 * CHANNELS;
  for (int c = 0; c < CHANNELS; ++c) {
    const float p00 = top && left ? (float)at[c] : 0;
    const float p01 = top && right ? (float)at[CHANNELS + c] : 0;
    const float p10 = bottom && left ? (float)at[row + c] : 0;
    const float p11 = bottom && right ? (float)at[row + CHANNELS + c] : 0;
    const float above = fma(tx, p01 - p00, p00), below = fma(tx, p11 - p10, p10);
    out[c] = TURNED(fma(ty, below - above, above));
  }
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
      PASTE(ENTRY, _pixel)(in, out + (i + j) * CHANNELS, view, fma(x, view.to_x[0], x_0),
                           fma(x, view.to_y[0], y_0));
    }
    i += run;
  }
}

#undef TURNED
