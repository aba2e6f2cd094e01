// Conversion of one element from T0 to T, the body of the cast kernels. Instantiated once per T0
// under the name BODY.
//
//   T, T_FLOAT, T_SIGNED, T_BITS   the result: type, whether it is a float, signed, its width
//   T0, T0_FLOAT                   the argument: type, whether it is a float
//   T_STORED, TO_STORED(x)              the result in memory, and from a T
//   T0_STORED, FROM_STORED0(x)             the argument in memory, and a T0 from it
//   T_LIMIT                        the first value above T's range, as a float constant (2^31 for
//                                  int); every such power of two is exact in float and double
//   TO_FLOAT(x)                    set where T0 has more digits than T, and T more than T_STORED: a
//                                  T that is rounded right afterwards, see narrow_floats.h
//
// Edge rules: float to integer truncates toward zero and saturates, NaN becomes 0; integer to
// integer keeps the low bits; integer to float and float to narrower float round to nearest. A
// complex number has a real part only, or gives it.

#include "kernels/common/fp_contract_off.h"
#include "kernels/common/narrow_floats.h"

static inline T_STORED BODY(T0_STORED stored) {
  const T0 x = FROM_STORED0(stored);
#if T0_FLOAT && !T_FLOAT
  const UT ones = (UT) ~(UT)0;
#if T_SIGNED
  const T highest = (T)(ones >> 1);
  const T lowest = (T) ~(ones >> 1);
  const T0 floor = -(T0)T_LIMIT;
#else
  const T highest = ones;
  const T lowest = 0;
  const T0 floor = 0;
#endif
  if (x != x) return 0;
  if (x >= (T0)T_LIMIT) return highest;
#if T_BITS < 32
  // Via int, to which vector units can convert.
  return x <= floor ? lowest : (T)(int)x;
#else
  return x <= floor ? lowest : (T)x;
#endif
#elif defined(TO_FLOAT)
  return TO_STORED(TO_FLOAT(x));
#else
  return TO_STORED((T)x);
#endif
}
