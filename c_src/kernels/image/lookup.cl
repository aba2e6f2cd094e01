// How colours find their place in a table: colour * scale + added, from 0 to size - 1. What lies
// outside is at the edge.

typedef struct {
  long count, chunk;
  long size;  // entries per dimension
  long cube;  // 1: three dimensions
  float scale[3], added[3];
} Lookup;

static inline float mixed(const float a, const float b, const float t) {
  return fma(t, b - a, a);
}
