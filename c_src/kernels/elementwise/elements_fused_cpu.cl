// Instantiates fusion/fused_cpu.cl for bodies over elements.

#include "kernels/elementwise/slots.cl"
#include "kernels/fusion/fused_cpu.cl"
