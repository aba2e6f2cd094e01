// Row operations of the factorizations, and loops that divide rows among the items of a work-group.
//
//   T, T_BITS   the element type: float or double
//
// On CPUs a work-group is one item and processes rows in vectors; elsewhere each item has its own
// rows. Every item reaches every JOIN.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/common/paste.h"
#include "kernels/factor/factor_args.h"

#if T_BITS == 32
#define EPSILON 1.1920929e-7f
#define SMALLEST 1.17549435e-38f
#else
#define EPSILON 2.220446049250313e-16
#define SMALLEST 2.2250738585072014e-308
#endif

#if CPU_CLASS

#define FACTOR_KERNEL SINGLE_ITEM_KERNEL
#define EACH(i, begin, end) for (long i = (begin); i < (end); ++i)
#define JOIN
#define FIRST_ITEM true
#define FIRST_MATRIX ((long)get_group_id(0) * view.units)
#define LAST_MATRIX min(FIRST_MATRIX + view.units, view.batch)

#define ROW_LANES 8
typedef PASTE(T, ROW_LANES) RowVector;
typedef RowVector LooseRow __attribute__((aligned(sizeof(T))));
#define ROW_AT(p) (*(__global LooseRow *)(p))

static inline T dot_rows(__global const T *a, __global const T *b, const long n) {
  RowVector sum0 = (RowVector)0, sum1 = (RowVector)0;
  long k = 0;
  for (; k + 2 * ROW_LANES <= n; k += 2 * ROW_LANES) {
    sum0 = fma(*(__global const LooseRow *)(a + k), *(__global const LooseRow *)(b + k), sum0);
    sum1 = fma(*(__global const LooseRow *)(a + k + ROW_LANES),
               *(__global const LooseRow *)(b + k + ROW_LANES), sum1);
  }
  T sum = 0;
  for (; k < n; ++k) sum = fma(a[k], b[k], sum);
  const RowVector all = sum0 + sum1;
  const PASTE(T, 4) four = all.lo + all.hi;
  const PASTE(T, 2) two = four.lo + four.hi;
  return sum + (two.x + two.y);
}

static inline void add_row(__global T *to, const T factor, __global const T *from, const long n) {
  long k = 0;
  for (; k + ROW_LANES <= n; k += ROW_LANES) {
    ROW_AT(to + k) = fma((RowVector)factor, *(__global const LooseRow *)(from + k), ROW_AT(to + k));
  }
  for (; k < n; ++k) to[k] = fma(factor, from[k], to[k]);
}

// a, b = c a - s b, s a + c b
static inline void rotate_rows(__global T *a, __global T *b, const T c, const T s, const long n) {
  long k = 0;
  for (; k + ROW_LANES <= n; k += ROW_LANES) {
    const RowVector x = ROW_AT(a + k), y = ROW_AT(b + k);
    ROW_AT(a + k) = x * c - y * s;
    ROW_AT(b + k) = x * s + y * c;
  }
  for (; k < n; ++k) {
    const T x = a[k], y = b[k];
    a[k] = x * c - y * s;
    b[k] = x * s + y * c;
  }
}

#else

#define FACTOR_KERNEL __kernel
#define EACH(i, begin, end) \
  for (long i = (begin) + (long)get_local_id(0); i < (end); i += (long)get_local_size(0))
#define JOIN barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE)
#define FIRST_ITEM (get_local_id(0) == 0)
#define FIRST_MATRIX ((long)get_group_id(0))
#define LAST_MATRIX (FIRST_MATRIX + 1)

static inline T dot_rows(__global const T *a, __global const T *b, const long n) {
  T sum = 0;
  for (long k = 0; k < n; ++k) sum = fma(a[k], b[k], sum);
  return sum;
}

static inline void add_row(__global T *to, const T factor, __global const T *from, const long n) {
  for (long k = 0; k < n; ++k) to[k] = fma(factor, from[k], to[k]);
}

static inline void rotate_rows(__global T *a, __global T *b, const T c, const T s, const long n) {
  for (long k = 0; k < n; ++k) {
    const T x = a[k], y = b[k];
    a[k] = x * c - y * s;
    b[k] = x * s + y * c;
  }
}

#endif

// The rotation that makes the off-diagonal element of {{a, g}, {g, b}} zero: cosine and sine.
static inline void rotation(const T a, const T b, const T g, T *c, T *s) {
  if (g == 0) {
    *c = 1;
    *s = 0;
    return;
  }
  const T zeta = (b - a) / (2 * g);
  const T root = fabs(zeta) > (T)1 / EPSILON ? fabs(zeta) : sqrt(fma(zeta, zeta, (T)1));
  const T t = (zeta < 0 ? (T)-1 : (T)1) / (fabs(zeta) + root);
  *c = 1 / sqrt(fma(t, t, (T)1));
  *s = t * *c;
}

// Pair `i` of round `round` of a tournament of n players, n even: each round has n / 2 pairs
// without a common player, and n - 1 rounds have every pair once.
static inline void pair_of(const int n, const int round, const int i, int *p, int *q) {
  const int a = i == 0 ? n - 1 : (round + i) % (n - 1);
  const int b = (round + n - 1 - i) % (n - 1);
  *p = min(a, b);
  *q = max(a, b);
}

// An upper bound of the sweeps; convergence is quadratic after a few.
#define MOST_SWEEPS 40
