// The kernels that look at one pixel at a time, and those that move pixels, a file per kind.
#pragma once

#include "kernels/registry.hpp"

namespace dala {

Descriptors pixel_filter_kernels();  // grayscale, brightness, ...
Descriptors yuv_kernels();           // frames of video from and to RGBA

}  // namespace dala
