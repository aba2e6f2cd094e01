// Where a column or row of the result lies in the picture, step by step: with half-pixel centres
// output o lies at ((2o + 1) * in - out) / (2 * out), which is `base` and `rest` / (2 * out) past
// it. Fractions of integers are exact on every device.

typedef struct {
  long height, width;
  long out_height, out_width;
  long channels;
  int columns, rows;  // of the result, per work-group
} Resample;

typedef struct {
  int base;
  uint rest, whole;
} Walk;

static inline Walk walk_from(const long o, const long in, const long out) {
  const long above = (2 * o + 1) * in - out, whole = 2 * out;
  Walk walk;
  walk.base = (int)(above >= 0 ? above / whole : -((whole - 1 - above) / whole));
  walk.rest = (uint)(above - walk.base * whole);
  walk.whole = (uint)whole;
  return walk;
}
// To the next output: `steps` columns and `more` parts on, which are fewer than the whole.
static inline void walk_on(Walk *walk, const int steps, const uint more) {
  walk->rest += more;
  const bool over = walk->rest >= walk->whole;
  walk->rest -= over ? walk->whole : 0;
  walk->base += steps + (over ? 1 : 0);
}
