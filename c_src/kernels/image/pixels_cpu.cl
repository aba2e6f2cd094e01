// out[i] = BODY(in[i], place of i, values), for devices that are CPUs.
//
//   in, out   images of CHANNELS and OUT_CHANNELS elements per pixel: 1, 3 or 4
//   view      see pixels.cl
//   values    the parameters of BODY
//
// A work-group is one item and owns view.chunk pixels, which it takes LANES at a time along each
// row; what is left of a row goes through private memory. One channel is red, green and blue alike;
// alpha that is not there is 1. Edge rule: the last chunk ends at view.count. in and out may be the
// same memory if their channels are; nothing is assumed about their alignment.

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void ENTRY(__global const T *in, __global T *out, const PixelView view, const PixelValues values) {
  const long begin = (long)get_group_id(0) * view.chunk;
  const long end = min(begin + view.chunk, view.count);
  const float across = 1.0f / (float)view.width, down = 1.0f / (float)view.height;
  for (long i = begin; i < end;) {
    const long row = i / view.width, column = i % view.width;
    const long run = min(view.width - column, end - i);
    Place place;
    place.y = (Reals)((float)(2 * row + 1 - view.height) * down);
    long j = 0;
    for (; j + LANES <= run; j += LANES) {
      place.x = ((float)(2 * (column + j) + 1 - view.width) + LANE_STEPS) * across;
      const Pixels pixels = PASTE(load_, CHANNELS)(in + (i + j) * CHANNELS);
      PASTE(store_, OUT_CHANNELS)(BODY(pixels, place, values), out + (i + j) * OUT_CHANNELS);
    }
    if (j < run) {
      T elements[LANES * 4];
      const int left = (int)(run - j);
      for (int k = 0; k < left * CHANNELS; ++k) elements[k] = in[(i + j) * CHANNELS + k];
      for (int k = left * CHANNELS; k < LANES * CHANNELS; ++k) elements[k] = 0;
      place.x = ((float)(2 * (column + j) + 1 - view.width) + LANE_STEPS) * across;
      const Pixels pixels = PASTE(load_, CHANNELS)(elements);
      PASTE(store_, OUT_CHANNELS)(BODY(pixels, place, values), elements);
      for (int k = 0; k < left * OUT_CHANNELS; ++k) out[(i + j) * OUT_CHANNELS + k] = elements[k];
    }
    i += run;
  }
}
