// Instantiates fusion/fused_gpu.cl for bodies over pixels.

#include "kernels/image/pixels/pixel_slots.cl"

#include "kernels/fusion/fused_gpu.cl"
