// The vectors that the convolution kernels for CPUs work with.
//
//   T          element type, a float
//   LANES      elements of a vector: 2, 4, 8 or 16
//   TILE_ROWS  output channels of a tile: 6 or 8
//   VECTORS    vectors of pixels of a tile: 2 or 3

#define VECTOR PASTE(T, LANES)
#define TILE_PIXELS (VECTORS * LANES)

// Wide vload and vstore are cut into pieces by some compilers; access through a vector type of an
// element's alignment is not.
#ifdef __clang__
typedef VECTOR Loose __attribute__((aligned(sizeof(T))));
#define LOAD_FROM(SPACE)                                                       \
  static inline VECTOR __attribute__((overloadable)) load(SPACE const T *from) { \
    return *(SPACE const Loose *)from;                                         \
  }
#define STORE_TO(SPACE)                                                        \
  static inline void __attribute__((overloadable)) store(const VECTOR v, SPACE T *to) { \
    *(SPACE Loose *)to = v;                                                    \
  }
LOAD_FROM(__global)
LOAD_FROM(__local)
LOAD_FROM(__private)
STORE_TO(__global)
STORE_TO(__local)
STORE_TO(__private)
#define LOAD(pointer) load(pointer)
#define STORE(vector, pointer) store(vector, pointer)
#else
#define LOAD(pointer) PASTE(vload, LANES)(0, pointer)
#define STORE(vector, pointer) PASTE(vstore, LANES)(vector, 0, pointer)
#endif

#if TILE_ROWS == 8
#define FOR_ROWS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#else
#define FOR_ROWS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)
#endif
#if VECTORS == 3
#define FOR_VECTORS(DO, r) DO(r, 0) DO(r, 1) DO(r, 2)
#else
#define FOR_VECTORS(DO, r) DO(r, 0) DO(r, 1)
#endif

// The sum of a vector's elements.
static inline T across(const VECTOR v) {
#if LANES == 16
  const PASTE(T, 8) half8 = v.lo + v.hi;
  const PASTE(T, 4) half4 = half8.lo + half8.hi;
  const PASTE(T, 2) half2 = half4.lo + half4.hi;
#elif LANES == 8
  const PASTE(T, 4) half4 = v.lo + v.hi;
  const PASTE(T, 2) half2 = half4.lo + half4.hi;
#elif LANES == 4
  const PASTE(T, 2) half2 = v.lo + v.hi;
#else
  const PASTE(T, 2) half2 = v;
#endif
  return half2.x + half2.y;
}

// Copies `count` elements, or every second one. Writes up to LANES - 1 elements past them, where
// the caller writes next; reads none past the `left` that there are.
static inline void copy_run(__global const T *from, const long left, const int count,
                            __local T *to) {
  int i = 0;
  for (; i < count && i + LANES <= left; i += LANES) STORE(LOAD(from + i), to + i);
  for (; i < count; ++i) to[i] = from[i];
}
static inline void copy_every_second(__global const T *from, const long left, const int count,
                                     __local T *to) {
  int i = 0;
  for (; i < count && 2 * (i + LANES) <= left; i += LANES) {
    const VECTOR low = LOAD(from + 2 * i), high = LOAD(from + 2 * i + LANES);
    STORE((VECTOR)(low.even, high.even), to + i);
  }
  for (; i < count; ++i) to[i] = from[2 * i];
}
// Zeros, with the same overrun.
static inline void clear_run(const int count, __local T *to) {
  for (int i = 0; i < count; i += LANES) STORE((VECTOR)(0), to + i);
}

// Stores the first `count` elements, or all when what is past them is written next: `room`
// elements from here on.
static inline void store_part(const VECTOR v, __global T *to, const int count, const long room) {
  if (room >= LANES) {
    STORE(v, to);
    return;
  }
  T elements[LANES];
  STORE(v, elements);
  for (int i = 0; i < count; ++i) to[i] = elements[i];
}

// The first `count` elements, or all when there are as many, and zeros.
static inline VECTOR load_first(__global const T *from, const int count) {
  if (count >= LANES) return LOAD(from);
  T elements[LANES];
  for (int i = 0; i < LANES; ++i) elements[i] = i < count ? from[i] : (T)0;
  return LOAD(elements);
}
// Stores the first `count` elements, or all when there are as many.
static inline void store_first(const VECTOR v, __global T *to, const int count) {
  if (count >= LANES) {
    STORE(v, to);
    return;
  }
  T elements[LANES];
  STORE(v, elements);
  int i = 0;
#if LANES >= 8
  for (; i + 4 <= count; i += 4) PASTE(vstore, 4)(PASTE(vload, 4)(0, elements + i), 0, to + i);
#endif
  for (; i < count; ++i) to[i] = elements[i];
}
