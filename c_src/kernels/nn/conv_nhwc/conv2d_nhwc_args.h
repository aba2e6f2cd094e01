// How the CPU family divides a convolution in the NHWC layout.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

// The panels of panels_cpu.cl.
typedef struct Panels {
  cl_long vectors HOST_INIT(0);  // per panel; the last panel of a group may have fewer
  cl_long per_group HOST_INIT(0);
  cl_long first HOST_INIT(0);  // the range of panels, of all groups, that is in memory
  cl_long end HOST_INIT(0);
  cl_long strip_panels HOST_INIT(0);  // per work-group
  cl_long strip_pixels HOST_INIT(0);  // per work-group
  cl_long block HOST_INIT(0);         // products of a sum that are processed at a time
} Panels;
SHARED_STRUCT(Panels, 56)

// Of conv2d_patch_cpu.cl.
typedef struct Patch {
  Panels panels;
  cl_long strips HOST_INIT(0);  // per plane
  cl_long strip_rows HOST_INIT(0);
  cl_long line_channels HOST_INIT(0);  // upper bound of the channels that are copied per pixel
  cl_long parts_y HOST_INIT(1);        // parts of a window, whose products are summed in turn
  cl_long parts_x HOST_INIT(1);
} Patch;
SHARED_STRUCT(Patch, sizeof(Panels) + 40)

// Of depthwise_nhwc_cpu.cl and conv2d_groups_cpu.cl.
typedef struct Rows {
  cl_long strip_rows HOST_INIT(0);
  cl_long strip_blocks HOST_INIT(0);
  cl_long block_rows HOST_INIT(0);
  cl_long seven HOST_INIT(0);  // whether rows are processed seven outputs at a time
} Rows;
SHARED_STRUCT(Rows, 32)

SHARED_END
