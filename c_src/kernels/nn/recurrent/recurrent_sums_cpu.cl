// A template: adds the products of the states of ROWS sequences with the weights of one tile.
//
//   NAME, GATES, ROWS
//
//   weights  the tile's weights for the first of the gates, {hidden, all gates, RECURRENT_TILE}
//   pitch    elements between the weights of neighbouring inputs
//   sums     {ROWS, GATES} vectors to add to
#if ROWS > 1
#define EACH_ROW(M) M(0) M(1) M(2) M(3)
#else
#define EACH_ROW(M) M(0)
#endif
#if GATES == 4
#define EACH_GATE(M, r) M(r, 0) M(r, 1) M(r, 2) M(r, 3)
#elif GATES == 3
#define EACH_GATE(M, r) M(r, 0) M(r, 1) M(r, 2)
#elif GATES == 2
#define EACH_GATE(M, r) M(r, 0) M(r, 1)
#else
#define EACH_GATE(M, r) M(r, 0)
#endif

static inline void NAME(__global const float *weights, const long pitch, const long hidden,
                        __global const float *const *states, float16 *sums) {
#define LOAD_SUM(r, g) float16 sum_##r##_##g = sums[(r)*GATES + (g)];
#define LOAD_SUMS(r) EACH_GATE(LOAD_SUM, r)
  EACH_ROW(LOAD_SUMS)
#define STATE(r) __global const float *state_##r = states[r];
  EACH_ROW(STATE)
  for (long k = 0; k < hidden; ++k) {
    __global const float *w = weights + k * pitch;
#define WEIGHT(r, g) const float16 weight_##g = vload16(g, w);
    EACH_GATE(WEIGHT, 0)
#define ADD(r, g) sum_##r##_##g = fma(factor_##r, weight_##g, sum_##r##_##g);
#define ADD_ROW(r)                                    \
  const float16 factor_##r = (float16)(state_##r[k]); \
  EACH_GATE(ADD, r)
    EACH_ROW(ADD_ROW)
  }
#define STORE_SUM(r, g) sums[(r)*GATES + (g)] = sum_##r##_##g;
#define STORE_SUMS(r) EACH_GATE(STORE_SUM, r)
  EACH_ROW(STORE_SUMS)
}

#undef EACH_ROW
#undef EACH_GATE
#undef LOAD_SUM
#undef LOAD_SUMS
#undef STATE
#undef WEIGHT
#undef ADD
#undef ADD_ROW
#undef STORE_SUM
#undef STORE_SUMS
#undef NAME
#undef GATES
#undef ROWS
