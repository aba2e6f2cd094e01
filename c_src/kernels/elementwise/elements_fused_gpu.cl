// Instantiates fusion/fused_gpu.cl for bodies over elements.

#include "kernels/elementwise/slots.cl"
#include "kernels/fusion/fused_gpu.cl"
