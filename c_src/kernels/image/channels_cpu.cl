// Bytes of images of three channels as images of four, with alpha 255, or the other way round, for
// devices that are CPUs: what pixel_copy gives, without a way through floats.
//
//   in, out   images of CHANNELS and OUT_CHANNELS bytes per pixel
//   view      see pixels.cl; a single row
//
// A work-group is one item and owns view.chunk pixels, which it takes LANES at a time; what is left
// one by one. Edge rule: the last chunk ends at view.count. Nothing is assumed about alignment.

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void ENTRY(__global const T *in, __global T *out, const PixelView view, const PixelValues values) {
  long i = (long)get_group_id(0) * view.chunk;
  const long end = min(i + view.chunk, view.count);
#if WORDS
  for (; i + LANES <= end; i += LANES) {
    const uint16 words = PASTE(words_, CHANNELS)(in + i * CHANNELS);
    PASTE(put_words_, OUT_CHANNELS)(words | 0xff000000u, out + i * OUT_CHANNELS);
  }
#endif
  for (; i < end; ++i) {
    for (int c = 0; c < 3; ++c) out[i * OUT_CHANNELS + c] = in[i * CHANNELS + c];
#if OUT_CHANNELS == 4
    out[i * OUT_CHANNELS + 3] = 255;
#endif
  }
}
