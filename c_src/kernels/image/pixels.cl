// Pixels as the colour filters see them, whatever the image holds: red, green, blue and alpha as
// floats, 0 to 1, of LANES pixels at once. The loops of pixels_cpu.cl and pixels_gpu.cl load and
// store them; the filters themselves are in pixel_ops.cl.
//
//   T, T_FLOAT   element type of images: float (0 to 1) or uchar (0 to 255)
//   LANES        16 on devices that are CPUs, otherwise 1
//
// Stored as bytes, results are rounded to the nearest level, halves up, and saturated; as floats
// they are what was computed, even beyond 0 to 1. Products and sums are fused only where a filter
// says fma, so that a filter gives the same bits alone and in a chain.

#pragma OPENCL FP_CONTRACT OFF

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)

#if LANES == 16
typedef float16 Reals;
typedef uint16 Levels;
#ifdef __clang__
#define TO_REALS(x) __builtin_convertvector(x, float16)
#define TO_LEVELS(x) as_uint16(__builtin_convertvector(x, int16))
#else
#define TO_REALS(x) convert_float16(x)
#define TO_LEVELS(x) as_uint16(convert_int16(x))
#endif
#else
typedef float Reals;
typedef uint Levels;
#define TO_REALS(x) ((float)(x))
#define TO_LEVELS(x) ((uint)(x))
#endif

typedef struct {
  Reals r, g, b, a;
} Pixels;

// Where pixels are: 0 at the centre of the image, -1 and 1 at its edges.
typedef struct {
  Reals x, y;
} Place;

// The parameters of a filter; what each is, the filter says.
typedef struct {
  float at[4];
} PixelValues;

// How a loop goes through an image of contiguous pixels.
typedef struct {
  long count;   // pixels
  long chunk;   // pixels per work-group (CPU class)
  long width;   // of a row; the whole image is one row where a filter does not ask for the place
  long height;
} PixelView;

// Comparisons instead of min and max: those are function calls for some compilers.
static inline Reals at_least(const float low, const Reals x) {
  return x < (Reals)(low) ? (Reals)(low) : x;
}
static inline Reals at_most(const float high, const Reals x) {
  return x > (Reals)(high) ? (Reals)(high) : x;
}

// The level of a byte that is nearest. Rounding errors leave some halves a little lower, so what is
// that close to one counts as one.
#define HALF (0.5f + 1.0f / 4096)
static inline Levels to_levels(const Reals x) {
  return TO_LEVELS(at_most(255.0f, at_least(0.0f, x * 255.0f + HALF)));
}
static inline Reals from_levels(const Levels levels) { return TO_REALS(levels) * (1.0f / 255.0f); }

// What the next filter would see of a result that was stored and loaded.
static inline Reals as_stored(const Reals x) {
#if T_FLOAT
  return x;
#else
  return from_levels(to_levels(x));
#endif
}
