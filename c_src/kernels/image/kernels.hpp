// The image family: filters on images of {height, width, channels} or {height, width}.
#pragma once

#include "kernels/registry.hpp"

namespace dala {

Descriptors image_kernels();

Descriptors spatial_kernels();   // filters over a pixel's neighbourhood
Descriptors colour_kernels();    // pointwise filters, and kernels that move pixels
Descriptors tone_kernels();      // based on histograms
Descriptor warp_kernel();        // an affine or perspective warp
Descriptor preprocess_kernel();  // an image as the input of a network

}  // namespace dala
