// Arguments of the random number kernels: the generator's state, and the range of its sequence.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

// Blocks that are generated together. The order of the numbers depends on it, so it is the same on
// every device.
#define RANDOM_LANES 16

typedef struct RandomView {
  cl_ulong seed HOST_INIT(0);    // the key of the generator
  cl_ulong stream HOST_INIT(0);  // the upper half of its counter
  cl_long offset HOST_INIT(0);   // the position of the first element in the sequence
  cl_long count HOST_INIT(0);    // elements of the output
  cl_long chunk HOST_INIT(0);    // tiles per work-group (CPU class)
} RandomView;
SHARED_STRUCT(RandomView, 40)

SHARED_END
