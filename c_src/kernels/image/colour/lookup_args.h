// The position of a colour in a table: colour * scale + added, clamped to 0 to size - 1.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

typedef struct Lookup {
  cl_long count HOST_INIT(0);  // pixels
  cl_long chunk HOST_INIT(0);  // pixels per item
  cl_long size HOST_INIT(0);   // entries per dimension
  cl_long cube HOST_INIT(0);   // 1: three dimensions
  SHARED_ARRAY(cl_float, scale, 3);
  SHARED_ARRAY(cl_float, added, 3);
} Lookup;
SHARED_STRUCT(Lookup, 56)

SHARED_END
