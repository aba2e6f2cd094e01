// The layers of volumes under the layers of a filter.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

typedef struct DepthView {
  cl_long channels HOST_INIT(1);
  cl_long layers HOST_INIT(1);  // of a volume
  cl_long places HOST_INIT(1);  // of the filter along the depth
  cl_long size HOST_INIT(1);    // layers of the filter
  cl_long stride HOST_INIT(1);
  cl_long dilation HOST_INIT(1);
  cl_long low HOST_INIT(0);     // padding in front of the first layer
  cl_long plane HOST_INIT(1);   // elements of a layer
  cl_long planes HOST_INIT(1);  // of the output
  cl_long chunk HOST_INIT(1);   // planes per work-group (CPU class)
} DepthView;
SHARED_STRUCT(DepthView, 80)

SHARED_END
