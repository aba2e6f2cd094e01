// An image, and the size to which it is resized.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

typedef struct Resample {
  cl_long height HOST_INIT(0);
  cl_long width HOST_INIT(0);
  cl_long out_height HOST_INIT(0);
  cl_long out_width HOST_INIT(0);
  cl_long channels HOST_INIT(1);
  cl_int columns HOST_INIT(1);  // of the result, per work-group
  cl_int rows HOST_INIT(1);
} Resample;
SHARED_STRUCT(Resample, 48)

SHARED_END
