// The kernels that look at one pixel at a time, and those that move pixels, a file per kind.
#pragma once

#include "kernels/registry.hpp"

namespace dala {

Descriptors pixel_filter_kernels();  // grayscale, brightness, ...
Descriptors yuv_kernels();           // frames of video from and to RGBA
Descriptors geometry_kernels();      // crop, flip and rotate
Descriptors composite_kernels();     // blend and overlay: two pictures
Descriptor matte_kernel();           // two pictures by a mask
Descriptor lut_kernel();
Descriptor gradient_kernel();

}  // namespace dala
