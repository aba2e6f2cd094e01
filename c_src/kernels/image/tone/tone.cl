// Levels of pictures as histograms count them.
//
//   T, T_FLOAT   element type: uchar, whose levels are 0 to 255, or float, where 0 to 1 are these
//                levels: floor(255 x + 0.5) in single precision, what lies outside being at the end
#pragma once

#include "kernels/common/fp_contract_off.h"
#include "kernels/image/image.cl"
#include "kernels/image/tone/tone_args.h"

static inline int level_of(const T x) {
#if T_FLOAT
  return (int)(within(x, 0.0f, 1.0f) * 255.0f + 0.5f);
#else
  return x;
#endif
}

// The luma of BT.601 of levels, rounded to nearest; that of a grey is its level.
static inline int luma_of(__global const T *pixel, const long channels) {
  if (channels == 1) return level_of(pixel[0]);
  return (299 * level_of(pixel[0]) + 587 * level_of(pixel[1]) + 114 * level_of(pixel[2]) + 500) /
         1000;
}
