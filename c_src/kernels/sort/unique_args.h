// Distinct elements of a sorted row.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

typedef struct UniqueView {
  cl_long count HOST_INIT(0);  // sorted elements
  cl_long kept HOST_INIT(0);   // elements of the output
  cl_long chunk HOST_INIT(1);  // positions per work-group (CPU class)
} UniqueView;
SHARED_STRUCT(UniqueView, 24)

SHARED_END
