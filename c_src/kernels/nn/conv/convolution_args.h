// A convolution: its extents, and how the work is divided.
#pragma once

#include "kernels/common/shared.h"
#include "kernels/nn/window_args.h"

SHARED_BEGIN

typedef struct Convolution {
  Window window;
  cl_long slices HOST_INIT(0);  // batch * groups
  cl_long groups HOST_INIT(1);
  cl_long in_channels HOST_INIT(0);   // of one group
  cl_long out_channels HOST_INIT(0);  // of one group
  cl_long has_bias HOST_INIT(0);
  cl_long has_residual HOST_INIT(0);
  cl_long curve HOST_INIT(0);          // of the activation, see activation.cl
  cl_long pointwise HOST_INIT(0);      // 1 x 1 windows, stride 1, no padding: no im2col is needed
  cl_long nhwc HOST_INIT(0);           // channels are the last dimension, not the second
  cl_long packed HOST_INIT(0);         // weights are rows of output channels, see conv2d_pack
  cl_long columns HOST_INIT(0);        // of packed weights
  cl_long group_columns HOST_INIT(0);  // of packed weights, of one group
  // How the CPU family divides the work, see conv2d_cpu.cl and depthwise_cpu.cl.
  cl_long strip_channels HOST_INIT(0);
  cl_long strip_pixels HOST_INIT(0);
  cl_long strips HOST_INIT(0);
  cl_long block HOST_INIT(0);
  cl_long in_place HOST_INIT(0);
  cl_long strip_rows HOST_INIT(0);
  cl_long pitch HOST_INIT(0);
  cl_long flat HOST_INIT(0);
  cl_long units HOST_INIT(0);
} Convolution;
SHARED_STRUCT(Convolution, sizeof(Window) + 8 * 21)

SHARED_END
