// Arguments of the counting kernels.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

typedef struct CountView {
  cl_long count HOST_INIT(0);  // elements of the input
  cl_long chunk HOST_INIT(0);  // of them per work-group
  cl_long bins HOST_INIT(1);
} CountView;
SHARED_STRUCT(CountView, 24)

SHARED_END
