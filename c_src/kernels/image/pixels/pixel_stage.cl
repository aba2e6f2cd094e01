// A filter as a stage of a fused kernel: STAGE returns the result of BODY as if it had been stored
// as OUT_CHANNELS elements and loaded by the next stage.

#include "kernels/image/colour/pixel_ops.cl"

static inline Pixels STAGE(const Pixels in, const PixelValues values) {
  const Place nowhere = {(Reals)(0.0f), (Reals)(0.0f)};
  Pixels out = BODY(in, nowhere, values);
  out.r = as_stored(out.r);
#if OUT_CHANNELS == 1
  out.g = out.r;
  out.b = out.r;
#else
  out.g = as_stored(out.g);
  out.b = as_stored(out.b);
#endif
#if OUT_CHANNELS == 4
  out.a = as_stored(out.a);
#else
  out.a = (Reals)(1.0f);
#endif
  return out;
}
