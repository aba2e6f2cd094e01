// Kernels that process one pixel at a time and kernels that move pixels, one file per kind.
#pragma once

#include "kernels/registry.hpp"

namespace dala {

Descriptors pixel_filter_kernels();  // grayscale, brightness, ...
Descriptors yuv_kernels();           // video frames from and to RGBA
Descriptors geometry_kernels();      // crop, flip and rotate
Descriptors composite_kernels();     // blend and overlay: two images
Descriptor matte_kernel();           // two images and a mask
Descriptor lut_kernel();
Descriptor gradient_kernel();

}  // namespace dala
