// How the CPU family divides a convolution by Winograd's algorithm.
#pragma once

#include "kernels/common/shared.h"
#include "kernels/nn/conv_nhwc/conv2d_nhwc_args.h"

SHARED_BEGIN

typedef struct Winograd {
  Panels panels;                 // strip_panels per work-group; the other strips are not used
  cl_long tiles_y HOST_INIT(0);  // of a plane
  cl_long tiles_x HOST_INIT(0);
  cl_long strip_tiles HOST_INIT(0);  // per work-group
  cl_long block HOST_INIT(0);        // tiles that are transformed at a time
} Winograd;
SHARED_STRUCT(Winograd, sizeof(Panels) + 32)

SHARED_END
