// Loading and storing LANES pixels of 1, 3 or 4 channels.
#pragma once

#if CPU_CLASS
#include "kernels/image/pixels/pixel_access_cpu.cl"
#else
#include "kernels/image/pixels/pixel_access_gpu.cl"
#endif
