// The source positions of a warped picture.
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
  cl_int edge HOST_INIT(0);   // outside of the input: 1 clamps to the edge, 0 reads 0
  SHARED_ARRAY(cl_float, matrix, 9);
} Warp;
SHARED_STRUCT(Warp, 88)

SHARED_END
