// All neural network kernels for one element type, CPU family.
//
//   T and the other macros of element_defines
//   SUM, REAL   the type of sums, and the widest float of the device
//
// For floats also the register tiles of the convolutions: LANES, TILE_ROWS and VECTORS, see
// common/vectors_cpu.cl and nn/conv/vectors_cpu.cl; HAS_PREFETCH, MAX_VECTORS, ROWS_OF_n and
// HALF_ROWS_OF_n, see panels_cpu.cl and panel_tiles_cpu.cl.
#pragma once

#if T_FLOAT
#include "kernels/nn/conv/conv_transpose2d.cl"
#include "kernels/nn/conv/conv2d_cpu.cl"
#include "kernels/nn/conv/depthwise_cpu.cl"
#include "kernels/nn/conv/finish_cpu.cl"
#include "kernels/nn/conv_nhwc/conv2d_nhwc_cpu.cl"
#include "kernels/nn/conv_nhwc/conv2d_patch_cpu.cl"
#include "kernels/nn/conv_nhwc/conv2d_pack_cpu.cl"
#include "kernels/nn/conv_nhwc/depthwise_nhwc_cpu.cl"
#include "kernels/nn/conv_nhwc/scale_nhwc_cpu.cl"
#include "kernels/nn/winograd/winograd_cpu.cl"
#if LANES > 2
#include "kernels/nn/conv_nhwc/conv2d_groups_cpu.cl"
#endif
#endif
#include "kernels/nn/pool/pools_cpu.cl"
#if T_FLOAT || (T_BITS == 8 && !T_SIGNED)
#include "kernels/nn/resize/resize_cpu.cl"
#endif
