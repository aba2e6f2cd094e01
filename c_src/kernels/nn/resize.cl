// Where an output row or column lies in the input, and the elements around it.
//
// Coordinates are fractions of integers, so that they are exact on every device: with half-pixel
// centres output o lies at ((2o + 1) * in - out) / (2 * out), with aligned corners at
// o * (in - 1) / (out - 1).
//
//   T, T_FLOAT   element type; integers are u8
//   ACC          the float type in which it is interpolated

typedef struct {
  long planes;
  long height, width;
  long out_height, out_width;
  long channels;       // of each pixel, next to each other
  long taps;           // elements per axis that a result depends on: 1, 2 or 4
  long align_corners;
  // How the work is cut for devices that are CPUs, see resize_cpu.cl.
  long strip_rows;
  long strip_columns;
} Resize;

#define MOST_TAPS 4

typedef struct {
  long base;  // the element at or before the place
  ACC t;      // how far the place is past it, 0 to 1
} Place;

static inline Place place_of(const long o, const long in, const long out, const long align) {
  const long above = align ? o * (in - 1) : (2 * o + 1) * in - out;
  const long below = align ? max(out - 1, 1L) : 2 * out;
  Place place;
  place.base = above >= 0 ? above / below : -((below - 1 - above) / below);
  place.t = (ACC)(above - place.base * below) / (ACC)below;
  return place;
}

// The element that is nearest, the later one of two that are equally near.
static inline long nearest_of(const long o, const long in, const long out, const long align) {
  const long index = align ? (2 * o * (in - 1) + out - 1) / max(2 * (out - 1), 1L)
                           : (2 * o + 1) * in / (2 * out);
  return min(index, in - 1);
}

// Tap j of `taps` around a place: an element, those past an edge being the one at the edge.
static inline long tap_index(const Place place, const int taps, const int j, const long in) {
  return clamp(place.base + j - (taps / 2 - 1), 0L, in - 1);
}

// The cubic kernel of a = -0.75 at distances t and, factored so that nothing cancels, 1 + t.
#define CUBIC ((ACC)-0.75)
static inline ACC cubic_near(const ACC t) { return 1 - ((CUBIC + 3) - (CUBIC + 2) * t) * t * t; }
static inline ACC cubic_far(const ACC t) { return CUBIC * t * (1 - t) * (1 - t); }

static inline ACC tap_weight(const Place place, const int taps, const int j) {
  const ACC t = place.t;
  if (taps == 2) return j == 0 ? 1 - t : t;
  return j == 0 ? cubic_far(t) : j == 1 ? cubic_near(t) : j == 2 ? cubic_near(1 - t)
                                                                 : cubic_far(1 - t);
}

// Bytes are rounded to nearest, halves up. Rounding errors leave some halves a little lower, so
// what is that close to one counts as one.
#if T_FLOAT
#define AS_ELEMENT(x) (x)
#else
#define AS_ELEMENT(x) convert_uchar_sat_rtn((x) + (ACC)(0.5 + 1.0 / 4096))
#endif
