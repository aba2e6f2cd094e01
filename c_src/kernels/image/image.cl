// Pictures: rows of pixels whose channels are next to each other. Beyond its edges a picture goes
// on as its mirror image, the pixel at the edge being the mirror: c b | a b c d | c b.
//
//   T, T_FLOAT   element type: uchar or float

typedef struct {
  long height, width;
  long channels;  // 1, 3 or 4, the fourth being alpha
} Image;

// How the work is cut for devices that are CPUs: what a work-group owns.
typedef struct {
  int columns, rows;  // pixels
} Tile;

// Which of `count` rows or columns is seen at `place`, which may be far outside.
static inline int mirrored(const int place, const int count) {
  if (place >= 0 && place < count) return place;
  if (count == 1) return 0;
  const int period = 2 * (count - 1);
  const int inside = abs(place) % period;
  return min(inside, period - inside);
}

// Compilers make vectors of this, but not of every conversion that saturates.
static inline float within(const float x, const float low, const float high) {
  const float enough = x > low ? x : low;
  return enough < high ? enough : high;
}

// A result as an element: bytes are rounded to nearest and saturate, floats stay as they are.
#if T_FLOAT
#define WHITE 1.0f
#define AS_LEVEL(x) (x)
#else
#define WHITE 255.0f
#define AS_LEVEL(x) ((uchar)(int)(within(x, 0.0f, WHITE) + 0.5f))
#endif
