// Pictures: rows of pixels whose channels are next to each other. Beyond its edges a picture goes
// on as its mirror image, the pixel at the edge being the mirror: c b | a b c d | c b.
//
//   T, T_FLOAT   element type: uchar or float
//   WHITE        the largest level: 255 or 1

typedef struct {
  long height, width;
  long channels;  // 1, 3 or 4, the fourth being alpha
} Image;

#ifdef __clang__
#define INDEPENDENT_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT_LOOP
#endif

// Which of `count` rows or columns is seen at `place`, which may be far outside.
static inline int mirrored(const int place, const int count) {
  if (place >= 0 && place < count) return place;
  if (count == 1) return 0;
  const int period = 2 * (count - 1);
  const int inside = abs(place) % period;
  return min(inside, period - inside);
}

// A result as an element: bytes are rounded to nearest and saturate, floats stay as they are.
#if T_FLOAT
#define WHITE 1.0f
#define AS_LEVEL(x) (x)
#else
#define WHITE 255.0f
#define AS_LEVEL(x) convert_uchar_sat_rtn((x) + 0.5f)
#endif
