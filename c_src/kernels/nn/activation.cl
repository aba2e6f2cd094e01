// What is done to a result before it is stored: bounds, which cost next to nothing, then a curve.
//
//   T   element type, a float

// The bounds of an activation; NaN stays.
#define ACTIVATED(x, low, high) ((x) < (low) ? (low) : (x) > (high) ? (high) : (x))

#define CURVE_NONE 0
#define CURVE_LEAKY 1
#define CURVE_SIGMOID 2
#define CURVE_SILU 3

static inline T curved(const T x, const long curve, const T slope) {
  if (curve == CURVE_NONE) return x;
  if (curve == CURVE_LEAKY) return x < 0 ? slope * x : x;
  if (curve == CURVE_SIGMOID) return 1 / (1 + exp(-x));
  if (curve == CURVE_SILU) return x / (1 + exp(-x));
  const T gate = x / 6 + (T)0.5;
  return x * ACTIVATED(gate, (T)0, (T)1);
}
