// The position of an image over another, see over.cl.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

typedef struct Over {
  cl_long height HOST_INIT(0);  // of the base
  cl_long width HOST_INIT(0);
  cl_long over_height HOST_INIT(0);
  cl_long over_width HOST_INIT(0);
  cl_long x HOST_INIT(0);  // the position of the upper left corner of `over`
  cl_long y HOST_INIT(0);
  cl_long strip HOST_INIT(0);  // rows per work-group (CPU class)
  cl_float alpha HOST_INIT(1);
  cl_float unused HOST_INIT(0);
} Over;
SHARED_STRUCT(Over, 64)

SHARED_END
