// `over` over `base`, for devices with many narrow processors: an item per pixel of the base. The
// formula and the view are in over.cl.
//
//   base, out   pixels of CHANNELS elements of type T
//   over        pixels of OVER_CHANNELS
//
// Pixels of `over` outside of the base are not seen. Items past the last pixel do nothing. out may
// be base, but not over.

__kernel void ENTRY(__global const T *base, __global const T *over, __global T *out,
                    const Over view) {
  const long i = (long)get_global_id(0);
  if (i >= view.height * view.width) return;
  const long x = i % view.width - view.x, y = i / view.width - view.y;
  base += i * CHANNELS;
  out += i * CHANNELS;
  if (x < 0 || y < 0 || x >= view.over_width || y >= view.over_height) {
    for (int c = 0; c < CHANNELS; ++c) out[c] = base[c];
    return;
  }
  over += (y * view.over_width + x) * OVER_CHANNELS;
  const Pixels below = PASTE(load_, CHANNELS)(base);
  const Pixels above = PASTE(load_, OVER_CHANNELS)(over);
  PASTE(store_, CHANNELS)(pixels_over(below, above, view.alpha), out);
}
