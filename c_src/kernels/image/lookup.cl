// How colours find their place in a table: colour * scale + added, from 0 to size - 1. What lies
// outside is at the edge.

typedef struct {
  long count, chunk;
  long size;  // entries per dimension
  long cube;  // 1: three dimensions
  float scale[3], added[3];
} Lookup;

static inline float4 mixed(const float4 a, const float4 b, const float t) {
  return fma((float4)(t), b - a, a);
}

// An entry and the number after it, which has to be there, or an entry alone.
static inline float4 entry_and_next(__global const float *at) {
#ifdef __clang__
  typedef float4 Loose __attribute__((aligned(4)));
  return *(__global const Loose *)at;
#else
  return vload4(0, at);
#endif
}
static inline float4 entry_alone(__global const float *at) {
  return (float4)(at[0], at[1], at[2], 0.0f);
}

// The colour between the eight entries around a place.
#define BETWEEN(ENTRY_AT)                                                                          \
  mixed(mixed(mixed(ENTRY_AT(at), ENTRY_AT(at + r), t[0]),                                         \
              mixed(ENTRY_AT(at + g), ENTRY_AT(at + g + r), t[0]), t[1]),                          \
        mixed(mixed(ENTRY_AT(at + b), ENTRY_AT(at + b + r), t[0]),                                 \
              mixed(ENTRY_AT(at + b + g), ENTRY_AT(at + b + g + r), t[0]), t[1]),                  \
        t[2])
