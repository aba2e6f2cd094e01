// Operations that combine two partial results. Sums and products of integers wrap; NaN takes
// precedence over every number.
//
//   T, T_FLOAT, T_SIGNED, UT   the element type, see ops.cl
//   SUM                        the type in which sums are formed
//   REAL                       the widest float of the device
#pragma once

#if T_FLOAT
#define LOWEST (-(T)INFINITY)
#define HIGHEST ((T)INFINITY)
#elif T_SIGNED
#define LOWEST ((T) ~((UT) ~(UT)0 >> 1))
#define HIGHEST ((T)((UT) ~(UT)0 >> 1))
#else
#define LOWEST ((T)0)
#define HIGHEST ((T) ~(UT)0)
#endif

// Integers are combined as unsigned, for which overflow is defined.
#if T_FLOAT
static inline SUM combine_sum(SUM a, SUM b) { return a + b; }
static inline SUM combine_product(SUM a, SUM b) { return a * b; }
#else
static inline SUM combine_sum(SUM a, SUM b) { return (SUM)((ulong)a + (ulong)b); }
static inline SUM combine_product(SUM a, SUM b) { return (SUM)((ulong)a * (ulong)b); }
#endif
static inline T combine_max(T a, T b) { return (a > b || a != a) ? a : b; }
static inline T combine_min(T a, T b) { return (a < b || a != a) ? a : b; }

// The same for vectors. Integers are added in unsigned lanes.
#define VECTOR_combine_sum(a, b) ((a) + (b))
#define VECTOR_combine_product(a, b) ((a) * (b))
#define VECTOR_combine_max(a, b) ((((a) > (b)) | ((a) != (a))) ? (a) : (b))
#define VECTOR_combine_min(a, b) ((((a) < (b)) | ((a) != (a))) ? (a) : (b))
#if T_FLOAT
#define SUM_LANE SUM
#else
#define SUM_LANE ulong
#endif

// The stored value, from the accumulated value and the number of elements.
#define KEEP(x, total) (x)
#define AVERAGE_AS_REAL(x, total) ((REAL)(x) / (REAL)(total))
#define AVERAGE_AS_INTEGER(x, total) ((x) / (SUM)(total))
