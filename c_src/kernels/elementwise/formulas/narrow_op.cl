// An operation on floats of 16 bits, from the one on floats: the arguments are widened, the result
// is rounded. Instantiated once per operation.
//
//   NAME       the function
//   OF_FLOATS  the function of the same arguments as floats
//   N_ARGS     how many there are: inputs, then parameters
//   COMPARES   1 where the result, and a last argument, are bytes
//   FROM_STORED(x), TO_STORED(x)   see kernels/element.hpp

#include "kernels/common/fp_contract_off.h"
#include "kernels/common/narrow_floats.h"
#include "kernels/common/paste.h"
#include "kernels/elementwise/formulas/narrow_arguments.h"

#if COMPARES
static inline uchar NAME(PASTE(NARROW_ARGUMENTS_, N_ARGS), const uchar one) {
  return OF_FLOATS(PASTE(WIDENED_, N_ARGS), one);
}
#else
static inline ushort NAME(PASTE(NARROW_ARGUMENTS_, N_ARGS)) {
  const float result = OF_FLOATS(PASTE(WIDENED_, N_ARGS));
  return TO_STORED(result);
}
#endif
