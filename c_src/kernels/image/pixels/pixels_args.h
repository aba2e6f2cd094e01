// A pixel filter: its parameters, and the traversal of an image.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

// The parameters of a filter, which defines their meaning.
typedef struct PixelValues {
  SHARED_ARRAY(cl_float, at, 4);
} PixelValues;
SHARED_STRUCT(PixelValues, 16)

// An image of contiguous pixels.
typedef struct PixelView {
  cl_long count HOST_INIT(0);  // pixels
  cl_long chunk HOST_INIT(0);  // pixels per work-group (CPU class)
  cl_long width HOST_INIT(0);  // of a row; equals count if the filter does not need the position
  cl_long height HOST_INIT(0);
} PixelView;
SHARED_STRUCT(PixelView, 32)

SHARED_END
