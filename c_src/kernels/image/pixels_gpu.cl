// out[i] = BODY(in[i], place of i, values), for devices with many narrow processors.
//
//   in, out   images of CHANNELS and OUT_CHANNELS elements per pixel: 1, 3 or 4
//   view      see pixels.cl
//   values    the parameters of BODY
//
// An item per pixel. One channel is red, green and blue alike; alpha that is not there is 1. Edge
// rule: items past view.count do nothing. in and out may be the same memory if their channels are.

#if T_FLOAT
#define LOADED(element) (element)
#define STORED(real) (real)
#else
#define LOADED(element) from_levels(element)
#define STORED(real) (T)to_levels(real)
#endif

__kernel void ENTRY(__global const T *in, __global T *out, const PixelView view,
                    const PixelValues values) {
  const long i = (long)get_global_id(0);
  if (i >= view.count) return;
  const long x = i % view.width, y = i / view.width;
  const Place place = {(float)(2 * x + 1 - view.width) / (float)view.width,
                       (float)(2 * y + 1 - view.height) / (float)view.height};
  in += i * CHANNELS;
  out += i * OUT_CHANNELS;
  Pixels pixel;
  pixel.r = LOADED(in[0]);
  pixel.g = CHANNELS > 1 ? LOADED(in[CHANNELS > 1 ? 1 : 0]) : pixel.r;
  pixel.b = CHANNELS > 1 ? LOADED(in[CHANNELS > 1 ? 2 : 0]) : pixel.r;
  pixel.a = CHANNELS == 4 ? LOADED(in[CHANNELS - 1]) : 1.0f;
  pixel = BODY(pixel, place, values);
  out[0] = STORED(pixel.r);
#if OUT_CHANNELS > 1
  out[1] = STORED(pixel.g);
  out[2] = STORED(pixel.b);
#endif
#if OUT_CHANNELS == 4
  out[3] = STORED(pixel.a);
#endif
}

#undef LOADED
#undef STORED
