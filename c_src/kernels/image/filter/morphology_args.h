// The square around a pixel in which erode and dilate look.
#pragma once

#include "kernels/common/shared.h"

#define MOST_MORPHOLOGY_RADIUS 64

SHARED_BEGIN

typedef struct Morphology {
  cl_int radius HOST_INIT(0);
  cl_int unused HOST_INIT(0);
} Morphology;
SHARED_STRUCT(Morphology, 8)

SHARED_END
