// Planes or images, and the size to which they are resized, see area.cl.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

typedef struct Area {
  cl_long planes HOST_INIT(1);
  cl_long height HOST_INIT(0);
  cl_long width HOST_INIT(0);
  cl_long out_height HOST_INIT(0);
  cl_long out_width HOST_INIT(0);
  cl_long channels HOST_INIT(1);
  cl_long columns HOST_INIT(1);  // of the result, per work-group (CPU class)
  cl_long rows HOST_INIT(1);
} Area;
SHARED_STRUCT(Area, 64)

SHARED_END
