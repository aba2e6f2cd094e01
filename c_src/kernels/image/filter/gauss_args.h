// The weights of a Gaussian: exp(-k^2 / (2 sigma^2)) for k from 0 to radius, divided by their sum
// over k from -radius to radius.
#pragma once

#include "kernels/common/shared.h"

#define MAX_RADIUS 64
#define GAUSS_ROWS 8  // rows of a tile of the GPU family

SHARED_BEGIN

typedef struct Gauss {
  cl_int radius HOST_INIT(0);
  cl_float amount HOST_INIT(0);  // of sharpen
  SHARED_ARRAY(cl_float, weights, MAX_RADIUS + 1);
  // The same as 16-bit words, see words_cpu.cl: the first in units of 2^-16, the others of 2^-17.
  SHARED_ARRAY(cl_ushort, words, MAX_RADIUS + 1);
  cl_short amount_word HOST_INIT(0);  // in units of 2^-13
} Gauss;
SHARED_STRUCT(Gauss, 400)

SHARED_END
