// INDEPENDENT_LOOP before a loop asserts that no iteration reads what another one writes. Compilers
// cannot prove this where pointers may alias, and need it to vectorise the loop.
//
// UNROLLED_LOOP before a loop of few iterations makes its counter a constant in each.
//
// EACH_DIMENSION(d, rank, most) before a statement runs it for d from 0 to rank - 1, rank being at
// most `most`; EACH_DIMENSION_BACKWARDS from rank - 1 to 0. Elsewhere than on CPUs every d is a
// constant: an array of a struct argument that is indexed by a variable is copied to slow private
// memory by some compilers, for every item.
#pragma once

#if defined(__clang__) && !defined(__cplusplus)
#define INDEPENDENT_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT_LOOP
#endif

#ifdef __cplusplus
#define UNROLLED_LOOP
#else
#define UNROLLED_LOOP _Pragma("unroll")
#endif

#if CPU_CLASS || defined(__cplusplus)
#define EACH_DIMENSION(d, rank, most) for (int d = 0; d < (int)(rank); ++d)
#define EACH_DIMENSION_BACKWARDS(d, rank, most) for (int d = (int)(rank)-1; d >= 0; --d)
#else
#define EACH_DIMENSION(d, rank, most) \
  _Pragma("unroll") for (int d = 0; d < (most); ++d) if (d < (int)(rank))
#define EACH_DIMENSION_BACKWARDS(d, rank, most) \
  _Pragma("unroll") for (int d = (most)-1; d >= 0; --d) if (d < (int)(rank))
#endif
