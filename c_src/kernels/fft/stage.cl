// One stage of the transforms in a tile, of radix RADIX: a butterfly over RADIX points, then times
// w^(p * j * s), w = e^(-2 pi i / length).
//
//   STAGE, RADIX   the function, and its radix: 2, 4, 8, or odd; 0 for one that `radix` gives
//
// The including file defines V, the type of a point's part; BUTTERFLIES(m, s), a loop over p < m
// and q < s; RE(buffer, i) and IM(buffer, i), the parts of point i; BUFFER, the type of tiles.
//
// Edge rule: none, s * m * RADIX is the tile's length.

static inline void STAGE(BUFFER x, BUFFER y, __global const T *restrict roots, const int length,
                         const int s, const int radix TILE_ARGS) {
#if RADIX > 0
  const int r = RADIX;
#else
  const int r = radix;
#endif
  const int m = length / (r * s);

#if RADIX == 0 || RADIX % 2 == 1
#if RADIX == 0
#define HALF ((r - 1) / 2)
#define HALF_MOST (GENERIC_RADIX / 2)
#define UNROLL
#else
#define HALF ((RADIX - 1) / 2)
#define HALF_MOST HALF
#define UNROLL _Pragma("unroll")
  // cos and sin of the angles 2 pi k / RADIX.
  T cosines[HALF + 1], sines[HALF + 1];
  for (int k = 1; k <= HALF; ++k) {
    cosines[k] = roots[2 * (k * (length / RADIX))];
    sines[k] = -roots[2 * (k * (length / RADIX)) + 1];
  }
#endif
#endif

  BUTTERFLIES(m, s) {
    const int from = q + s * p, apart = s * m;
    const int to = q + s * r * p;
#define PUT(j, re, im)                                  \
  {                                                     \
    const V re_ = re, im_ = im;                         \
    if (m > 1 && (j) > 0) {                             \
      const T c = roots[2 * (p * (j)*s)];               \
      const T d = roots[2 * (p * (j)*s) + 1];           \
      RE(y, to + s * (j)) = fma(re_, (V)c, -(im_ * d)); \
      IM(y, to + s * (j)) = fma(re_, (V)d, im_ * c);    \
    } else {                                            \
      RE(y, to + s * (j)) = re_;                        \
      IM(y, to + s * (j)) = im_;                        \
    }                                                   \
  }
#if RADIX == 2
    const V ar = RE(x, from), ai = IM(x, from);
    const V br = RE(x, from + apart), bi = IM(x, from + apart);
    PUT(0, ar + br, ai + bi)
    PUT(1, ar - br, ai - bi)
#elif RADIX == 4
    const V ar = RE(x, from), ai = IM(x, from);
    const V br = RE(x, from + apart), bi = IM(x, from + apart);
    const V cr = RE(x, from + 2 * apart), ci = IM(x, from + 2 * apart);
    const V dr = RE(x, from + 3 * apart), di = IM(x, from + 3 * apart);
    const V sr = ar + cr, si = ai + ci, tr = ar - cr, ti = ai - ci;
    const V ur = br + dr, ui = bi + di, vr = br - dr, vi = bi - di;
    PUT(0, sr + ur, si + ui)
    PUT(1, tr + vi, ti - vr)
    PUT(2, sr - ur, si - ui)
    PUT(3, tr - vi, ti + vr)
#elif RADIX == 8
    const V x0r = RE(x, from), x0i = IM(x, from);
    const V x1r = RE(x, from + apart), x1i = IM(x, from + apart);
    const V x2r = RE(x, from + 2 * apart), x2i = IM(x, from + 2 * apart);
    const V x3r = RE(x, from + 3 * apart), x3i = IM(x, from + 3 * apart);
    const V x4r = RE(x, from + 4 * apart), x4i = IM(x, from + 4 * apart);
    const V x5r = RE(x, from + 5 * apart), x5i = IM(x, from + 5 * apart);
    const V x6r = RE(x, from + 6 * apart), x6i = IM(x, from + 6 * apart);
    const V x7r = RE(x, from + 7 * apart), x7i = IM(x, from + 7 * apart);
    // The even results are the transform of the sums of points four apart, the odd ones that of
    // their differences times powers of the eighth root.
    const V a0r = x0r + x4r, a0i = x0i + x4i, a1r = x1r + x5r, a1i = x1i + x5i;
    const V a2r = x2r + x6r, a2i = x2i + x6i, a3r = x3r + x7r, a3i = x3i + x7i;
    const V d0r = x0r - x4r, d0i = x0i - x4i, d1r = x1r - x5r, d1i = x1i - x5i;
    const V d2r = x2r - x6r, d2i = x2i - x6i, d3r = x3r - x7r, d3i = x3i - x7i;
    const T h = (T)0.70710678118654752440;
    const V b1r = (d1r + d1i) * h, b1i = (d1i - d1r) * h;
    const V b3r = (d3i - d3r) * h, b3i = -(d3r + d3i) * h;
    {
      const V sr = a0r + a2r, si = a0i + a2i, tr = a0r - a2r, ti = a0i - a2i;
      const V ur = a1r + a3r, ui = a1i + a3i, vr = a1r - a3r, vi = a1i - a3i;
      PUT(0, sr + ur, si + ui)
      PUT(2, tr + vi, ti - vr)
      PUT(4, sr - ur, si - ui)
      PUT(6, tr - vi, ti + vr)
    }
    {
      // d2 times -i.
      const V sr = d0r + d2i, si = d0i - d2r, tr = d0r - d2i, ti = d0i + d2r;
      const V ur = b1r + b3r, ui = b1i + b3i, vr = b1r - b3r, vi = b1i - b3i;
      PUT(1, sr + ur, si + ui)
      PUT(3, tr + vi, ti - vr)
      PUT(5, sr - ur, si - ui)
      PUT(7, tr - vi, ti + vr)
    }
#else
    // Points k and r - k have conjugate roots: their sum goes with the cosine, their difference
    // with the sine.
    const V ar = RE(x, from), ai = IM(x, from);
    V sum_r[HALF_MOST + 1], sum_i[HALF_MOST + 1], dif_r[HALF_MOST + 1], dif_i[HALF_MOST + 1];
    V all_r = ar, all_i = ai;
    UNROLL
    for (int k = 1; k <= HALF; ++k) {
      const V br = RE(x, from + k * apart), bi = IM(x, from + k * apart);
      const V cr = RE(x, from + (r - k) * apart), ci = IM(x, from + (r - k) * apart);
      sum_r[k] = br + cr;
      sum_i[k] = bi + ci;
      dif_r[k] = br - cr;
      dif_i[k] = bi - ci;
      all_r += sum_r[k];
      all_i += sum_i[k];
    }
    PUT(0, all_r, all_i)
    UNROLL
    for (int j = 1; j <= HALF; ++j) {
      V cr = ar, ci = ai, sr = (V)0, si = (V)0;
      UNROLL
      for (int k = 1; k <= HALF; ++k) {
#if RADIX == 0
        const int at = j * k % r * (length / r);
        const T c = roots[2 * at], d = -roots[2 * at + 1];
#else
        const int at = j * k % RADIX;
        const T c = at <= HALF ? cosines[at] : cosines[RADIX - at];
        const T d = at <= HALF ? sines[at] : -sines[RADIX - at];
#endif
        cr = fma(sum_r[k], (V)c, cr);
        ci = fma(sum_i[k], (V)c, ci);
        sr = fma(dif_r[k], (V)d, sr);
        si = fma(dif_i[k], (V)d, si);
      }
      PUT(j, cr + si, ci - sr)
      PUT(r - j, cr - si, ci + sr)
    }
#undef HALF
#undef HALF_MOST
#undef UNROLL
#endif
#undef PUT
  }
}
