// The size of the images and the region of a mask over them, see matte.cl.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

typedef struct Matte {
  cl_long height HOST_INIT(0);
  cl_long width HOST_INIT(0);
  cl_long channels HOST_INIT(0);
  cl_long mask_height HOST_INIT(0);
  cl_long mask_width HOST_INIT(0);
  cl_float x HOST_INIT(0);  // the position in the mask at which the images begin
  cl_float y HOST_INIT(0);
  cl_float step_x HOST_INIT(1);  // distance in the mask between adjacent pixels
  cl_float step_y HOST_INIT(1);
} Matte;
SHARED_STRUCT(Matte, 56)

SHARED_END
