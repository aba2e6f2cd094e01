// Comparison and logic: functions of elements of type T whose result is 1 where something holds,
// and 0 elsewhere.
//
//   T, T_FLOAT, OP(name)   see ops.cl
//   one                    1, which is an argument so that it is in a register: as a constant it
//                          would be loaded under a mask, and on some CPUs such a load takes
//                          hundreds of cycles while its page was never touched, which it is not as
//                          long as nothing holds
//
// Edge rules: NaN differs from everything, itself included, and is neither less nor greater. An
// element counts as true unless it is 0; NaN is true.

#include "kernels/common/fp_contract_off.h"

static inline uchar OP(equal)(T a, T b, uchar one) { return (a == b) ? one : (uchar)0; }
static inline uchar OP(not_equal)(T a, T b, uchar one) { return (a != b) ? one : (uchar)0; }
static inline uchar OP(less)(T a, T b, uchar one) { return (a < b) ? one : (uchar)0; }
static inline uchar OP(less_equal)(T a, T b, uchar one) { return (a <= b) ? one : (uchar)0; }
static inline uchar OP(greater)(T a, T b, uchar one) { return (a > b) ? one : (uchar)0; }
static inline uchar OP(greater_equal)(T a, T b, uchar one) { return (a >= b) ? one : (uchar)0; }

static inline uchar OP(logical_and)(T a, T b, uchar one) {
  return ((a != (T)0) & (b != (T)0)) ? one : (uchar)0;
}
static inline uchar OP(logical_or)(T a, T b, uchar one) {
  return ((a != (T)0) | (b != (T)0)) ? one : (uchar)0;
}
static inline uchar OP(logical_xor)(T a, T b, uchar one) {
  return ((a != (T)0) ^ (b != (T)0)) ? one : (uchar)0;
}
static inline uchar OP(logical_not)(T x, uchar one) { return (x == (T)0) ? one : (uchar)0; }

#if T_FLOAT
static inline uchar OP(is_nan)(T x, uchar one) { return (x != x) ? one : (uchar)0; }
static inline uchar OP(is_infinity)(T x, uchar one) {
  return (fabs(x) == (T)INFINITY) ? one : (uchar)0;
}
#endif
