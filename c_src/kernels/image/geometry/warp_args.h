// Where the pixels of a warped picture come from.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

// Output pixel (x, y) lies at (x' / w, y' / w) in the input, (x', y', w) being the matrix times
// (x, y, 1).
typedef struct Warp {
  cl_long height HOST_INIT(0);
  cl_long width HOST_INIT(0);
  cl_long in_height HOST_INIT(0);
  cl_long in_width HOST_INIT(0);
  cl_long channels HOST_INIT(1);
  cl_long span HOST_INIT(1);  // pixels per item
  cl_int edge HOST_INIT(0);   // 1: beyond its edges the picture goes on as it is there; 0: as 0
  SHARED_ARRAY(cl_float, matrix, 9);
} Warp;
SHARED_STRUCT(Warp, 88)

SHARED_END
