// The direction and kind of a cumulative kernel.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

typedef struct ScanWay {
  cl_int reverse HOST_INIT(0);    // from the end to the beginning
  cl_int exclusive HOST_INIT(0);  // without the element itself
} ScanWay;
SHARED_STRUCT(ScanWay, 8)

SHARED_END
