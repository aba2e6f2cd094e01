// out[i] = a[i] + alpha * (b[i] - a[i]), of elements of type T; u8 is rounded to nearest.
//
// Each item owns `chunk` elements: many in the CPU family, one in the GPU family. Edge rule: the
// last chunk ends at count. out may be a or b.
#pragma once

#include "kernels/common/loops.h"
#include "kernels/image/pixels/pixels.cl"

__kernel void blend(__global const T *a, __global const T *b, __global T *out, const float alpha,
                    const long count, const long chunk) {
  const long begin = (long)get_global_id(0) * chunk;
  const long end = min(begin + chunk, count);
  INDEPENDENT_LOOP
  for (long i = begin; i < end; ++i) {
    const float from = (float)a[i];
    const float mixed = fma(alpha, (float)b[i] - from, from);
#if T_FLOAT
    out[i] = mixed;
#else
    out[i] = (T)(int)(mixed + HALF);
#endif
  }
}
