// result = COMBINE over MAP(x[i], center), 0 <= i < n, for one row of contiguous elements, as a
// function NAME that the CPU kernels of this family call.
//
//   IN, ACC            type of the elements, and of the result
//   LANE               element type of the accumulating vectors
//   SPACE              address space of the row: __global or __private
//   IDENTITY, COMBINE  neutral element and associative operation; VECTOR_ before its name is the
//                      operation on vectors
//   MAP                applied to each element first
//
// Long rows are accumulated in several vectors side by side, which also keeps the rounding error
// of sums small. The vectors are separate variables: this compiler would keep an array in memory.
// Edge rule: elements that do not fill all lanes are added one by one.

#include "kernels/common/paste.h"

static inline ACC NAME(SPACE const IN *x, const long n, const ACC center) {
  ACC result = IDENTITY;
  long i = 0;
#ifdef __clang__
  typedef IN Elements __attribute__((ext_vector_type(64 / sizeof(LANE)), aligned(sizeof(IN))));
  typedef LANE Lanes __attribute__((ext_vector_type(64 / sizeof(LANE))));
  const long width = 64 / sizeof(LANE);
  if (n >= 8 * width) {
#define LOAD(at) MAP(__builtin_convertvector(*(SPACE const Elements *)(x + (at)), Lanes), center)
#define ADD(lanes, at) lanes = PASTE(VECTOR_, COMBINE)(lanes, LOAD(at))
    Lanes lanes0 = LOAD(0), lanes1 = LOAD(width), lanes2 = LOAD(2 * width),
          lanes3 = LOAD(3 * width);
    for (i = 4 * width; i + 4 * width <= n; i += 4 * width) {
      ADD(lanes0, i);
      ADD(lanes1, i + width);
      ADD(lanes2, i + 2 * width);
      ADD(lanes3, i + 3 * width);
    }
#undef ADD
#undef LOAD
    lanes0 = PASTE(VECTOR_, COMBINE)(lanes0, lanes1);
    lanes2 = PASTE(VECTOR_, COMBINE)(lanes2, lanes3);
    lanes0 = PASTE(VECTOR_, COMBINE)(lanes0, lanes2);
    for (int j = 0; j < 64 / (int)sizeof(LANE); ++j) result = COMBINE(result, (ACC)lanes0[j]);
  }
#endif
  for (; i < n; ++i) result = COMBINE(result, MAP((ACC)x[i], center));
  return result;
}
