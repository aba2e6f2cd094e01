// Windows of size_y x size_x elements, dilation apart, that slide with a stride over padded planes
// of height x width: output (oy, ox) reads rows oy * stride_y + ky * dilation_y - pad_y and columns
// ox * stride_x + kx * dilation_x - pad_x. Positions outside the plane are padding.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

typedef struct Window {
  cl_long height HOST_INIT(0);
  cl_long width HOST_INIT(0);
  cl_long out_height HOST_INIT(0);
  cl_long out_width HOST_INIT(0);
  cl_long size_y HOST_INIT(1);
  cl_long size_x HOST_INIT(1);
  cl_long stride_y HOST_INIT(1);
  cl_long stride_x HOST_INIT(1);
  cl_long pad_y HOST_INIT(0);  // above
  cl_long pad_x HOST_INIT(0);  // to the left
  cl_long dilation_y HOST_INIT(1);
  cl_long dilation_x HOST_INIT(1);
} Window;
SHARED_STRUCT(Window, 96)

SHARED_END
