// Planes or pictures at another size, each output being the mean of the area that it covers:
//
//   out[p][y][x][c] = sum over i, j of wy[i] * wx[j] * in[p][i][j][c]
//
// Along an axis, output o covers o * in / out to (o + 1) * in / out; the weight of an element is
// how much of it that is, in parts of the whole. Counted in parts of 1 / out, all are integers.
//
//   T, T_FLOAT   element type; integers are u8
//   ACC          the float type in which it is summed up

typedef struct {
  long planes;
  long height, width;
  long out_height, out_width;
  long channels;
  long columns, rows;  // of the result, per work-group of a device that is a CPU
} Area;

static inline long first_covered(const long o, const long in, const long out) {
  return o * in / out;
}
static inline long last_covered(const long o, const long in, const long out) {
  return ((o + 1) * in - 1) / out;
}
static inline ACC covered(const long i, const long o, const long in, const long out) {
  return (ACC)(min((o + 1) * in, (i + 1) * out) - max(o * in, i * out)) / (ACC)in;
}

// Bytes are rounded to nearest, halves up. Rounding errors leave some halves a little lower, so
// what is that close to one counts as one.
#if T_FLOAT
#define AS_MEAN(x) (x)
#else
#define AS_MEAN(x) ((uchar)(int)((x) + (ACC)(0.5 + 1.0 / 4096)))
#endif
