// All neural network kernels for one element type, GPU family.
//
//   T and the other macros of element_defines
//   SUM, REAL      the type of sums, and the widest float of the device
//   ACC, SIDE, LARGE_TILES   of convolutions as matrix products, see common/gemm_tile_gpu.h
#pragma once

#if T_FLOAT
#include "kernels/nn/conv/conv_transpose2d.cl"
#include "kernels/nn/conv/conv2d_gemm_gpu.cl"
#include "kernels/nn/conv/conv2d_gpu.cl"
#include "kernels/nn/conv/conv2d_pack_gpu.cl"
#include "kernels/nn/conv/depthwise_gpu.cl"
#endif
#include "kernels/nn/pool/pools_gpu.cl"
#if T_FLOAT || (T_BITS == 8 && !T_SIGNED)
#include "kernels/nn/resize/resize_gpu.cl"
#endif
