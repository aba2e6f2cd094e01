// The vectors that the matrix product kernels for CPUs compute with.
//
//   T, T_FLOAT  element type, and whether it is a float
//   ACC         type in which products are summed: T for floats, unsigned for integers, which
//               makes them wrap
//   LANES       elements of a vector of ACC: 4, 8 or 16
//   TILE_ROWS   rows of a tile: 6 or 8
//   ROUND_TRIP  1 when ACC has T's size, so that vectors of one are vectors of the other

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define VECTOR PASTE(ACC, LANES)
#define T_VECTOR PASTE(T, LANES)

// Wide vload and vstore are cut into pieces by some compilers; access through a vector type of an
// element's alignment is not.
#ifdef __clang__
typedef VECTOR Loose __attribute__((aligned(sizeof(ACC))));
#define LOAD_FROM(SPACE)                                                       \
  static inline VECTOR __attribute__((overloadable)) load(SPACE const ACC *from) { \
    return *(SPACE const Loose *)from;                                         \
  }
#define STORE_TO(SPACE)                                                        \
  static inline void __attribute__((overloadable)) store(const VECTOR v, SPACE ACC *to) { \
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

// LANES elements of an operand, as they are summed.
static inline VECTOR load_elements(__global const T *from) {
#if ROUND_TRIP
  return LOAD((__global const ACC *)from);
#else
  return PASTE(convert_, VECTOR)(PASTE(vload, LANES)(0, from));
#endif
}

#if T_FLOAT
#define MULTIPLY_ADD(x, y, sum) fma(x, y, sum)
#define AS_T(vector) (vector)
#define AS_ACC(vector) (vector)
#else
#define MULTIPLY_ADD(x, y, sum) ((x) * (y) + (sum))
#define AS_T(vector) PASTE(as_, T_VECTOR)(vector)
#define AS_ACC(vector) PASTE(as_, VECTOR)(vector)
#endif

// The sum of a vector's elements.
static inline ACC across(const VECTOR v) {
#if LANES == 16
  const PASTE(ACC, 8) half8 = v.lo + v.hi;
  const PASTE(ACC, 4) half4 = half8.lo + half8.hi;
#elif LANES == 8
  const PASTE(ACC, 4) half4 = v.lo + v.hi;
#else
  const PASTE(ACC, 4) half4 = v;
#endif
  const PASTE(ACC, 2) half2 = half4.lo + half4.hi;
  return half2.x + half2.y;
}
