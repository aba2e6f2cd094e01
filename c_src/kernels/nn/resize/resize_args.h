// Planes of pixels with adjacent channels, and the size to which they are resized.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

typedef struct Resize {
  cl_long planes HOST_INIT(1);
  cl_long height HOST_INIT(0);
  cl_long width HOST_INIT(0);
  cl_long out_height HOST_INIT(0);
  cl_long out_width HOST_INIT(0);
  cl_long channels HOST_INIT(1);
  cl_long taps HOST_INIT(1);  // elements per axis that a result depends on: 1, 2 or 4
  cl_long align_corners HOST_INIT(0);
  // How the CPU family divides the work, see resize_cpu.cl.
  cl_long strip_rows HOST_INIT(0);
  cl_long strip_columns HOST_INIT(0);
} Resize;
SHARED_STRUCT(Resize, 80)

SHARED_END
