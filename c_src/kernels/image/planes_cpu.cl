// Rows of pixels taken apart into lines of floats in local memory, one line per colour channel,
// for devices that are CPUs: there vectors are loaded from any column on, edges included.
//
//   LANES   elements of a vector

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)

typedef PASTE(float, LANES) Floats;
typedef PASTE(int, LANES) Ints;
#ifdef __clang__
typedef Floats LooseFloats __attribute__((aligned(4)));
#define LOAD_FLOATS(from) (*(__local const LooseFloats *)(from))
#define STORE_FLOATS(v, to) (*(__local LooseFloats *)(to) = (v))
#define AS_INTS(v) __builtin_astype(v, Ints)
#define AS_FLOATS(v) __builtin_astype(v, Floats)
#else
#define LOAD_FLOATS(from) PASTE(vload, LANES)(0, from)
#define STORE_FLOATS(v, to) PASTE(vstore, LANES)(v, 0, to)
#define AS_INTS(v) PASTE(as_int, LANES)(v)
#define AS_FLOATS(v) PASTE(as_float, LANES)(v)
#endif

// `count` pixels. The steps from pixel to pixel are written out for the sake of vectors.
#define TAKE_APART(CHANNELS)                                     \
  INDEPENDENT_LOOP                                               \
  for (int x = 0; x < count; ++x) {                              \
    to[x] = (float)from[CHANNELS * x];                           \
    to[stride + x] = (float)from[CHANNELS * x + 1];              \
    to[2 * stride + x] = (float)from[CHANNELS * x + 2];          \
  }
static inline void take_apart(__global const T *from, const int count, const int channels,
                              __local float *to, const int stride) {
  if (channels == 4) {
    TAKE_APART(4)
  } else if (channels == 3) {
    TAKE_APART(3)
  } else {
    INDEPENDENT_LOOP
    for (int x = 0; x < count; ++x) to[x] = (float)from[x];
  }
}

// The other way, alpha coming from the original.
#define PUT_TOGETHER(CHANNELS, ALPHA)                            \
  INDEPENDENT_LOOP                                               \
  for (int x = 0; x < count; ++x) {                              \
    to[CHANNELS * x] = AS_LEVEL(from[x]);                        \
    to[CHANNELS * x + 1] = AS_LEVEL(from[stride + x]);           \
    to[CHANNELS * x + 2] = AS_LEVEL(from[2 * stride + x]);       \
    ALPHA                                                        \
  }
static inline void put_together(__local const float *from, const int stride, const int count,
                                const int channels, __global const T *original, __global T *to) {
  if (channels == 4) {
    PUT_TOGETHER(4, to[4 * x + 3] = original[4 * x + 3];)
  } else if (channels == 3) {
    PUT_TOGETHER(3, )
  } else {
    INDEPENDENT_LOOP
    for (int x = 0; x < count; ++x) to[x] = AS_LEVEL(from[x]);
  }
}

// What lies beyond the picture in a line that starts at column `start` and has room for `room`:
// the mirror image up to `end`, zeros from there on.
static inline void mirror_line(__local float *line, const int start, const int end, const int width,
                               const int room) {
  for (int column = start; column < 0; ++column) {
    line[column - start] = line[mirrored(column, width) - start];
  }
  for (int column = width; column < end; ++column) {
    line[column - start] = line[mirrored(column, width) - start];
  }
  for (int i = end - start; i < room; ++i) line[i] = 0;
}
