// An image composited over another, both with or without alpha, neither premultiplied:
//
//   s = alpha * over.a, d = base.a * (1 - s), out.a = s + d,
//   out.rgb = (over.rgb * s + base.rgb * d) / out.a, or base.rgb where out.a is 0.
#pragma once

#include "kernels/image/composite/over_args.h"
#include "kernels/image/pixels/pixels.cl"

static inline Pixels pixels_over(const Pixels base, const Pixels over, const float alpha) {
  const Reals s = over.a * alpha;
  const Reals d = base.a * (1.0f - s);
  const Reals sum = s + d;
  const Reals share = (sum > (Reals)(0.0f) ? s / sum : (Reals)(0.0f));
  const Pixels out = {fma(share, over.r - base.r, base.r), fma(share, over.g - base.g, base.g),
                      fma(share, over.b - base.b, base.b), sum};
  return out;
}
