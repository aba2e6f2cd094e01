// result = COMBINE over MAP(x[i], center), 0 <= i < n, for one row of contiguous elements, as a
// function NAME that the CPU kernels of this family call.
//
//   IN, ACC            type of the elements, and of the result
//   IDENTITY, COMBINE  neutral value and associative operation
//   MAP                what is done to an element first
//
// Long rows are folded into LANES partial results side by side: that vectorises, and for sums it
// keeps the rounding error small. Edge rule: what does not fill all lanes is added one by one.

static inline ACC NAME(__global const IN *x, const long n, const ACC center) {
  ACC result = IDENTITY;
  long i = 0;
  if (n >= 2 * LANES) {
    ACC lanes[LANES];
    for (int j = 0; j < LANES; ++j) lanes[j] = IDENTITY;
    for (; i + LANES <= n; i += LANES) {
      for (int j = 0; j < LANES; ++j) lanes[j] = COMBINE(lanes[j], MAP((ACC)x[i + j], center));
    }
    for (int reach = LANES / 2; reach > 0; reach /= 2) {
      for (int j = 0; j < reach; ++j) lanes[j] = COMBINE(lanes[j], lanes[j + reach]);
    }
    result = lanes[0];
  }
  for (; i < n; ++i) result = COMBINE(result, MAP((ACC)x[i], center));
  return result;
}
