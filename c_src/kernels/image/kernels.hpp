// The image family: filters on images of {height, width, channels} or {height, width}.
#pragma once

#include "kernels/registry.hpp"

namespace dala {

Descriptors image_kernels();

Descriptors spatial_kernels();   // those that look at a pixel's neighbours
Descriptors colour_kernels();    // those that look at one pixel at a time, and those that move them
Descriptors tone_kernels();      // those that go by how often levels occur in a picture
Descriptor warp_kernel();        // a picture seen through a matrix
Descriptor preprocess_kernel();  // a picture as the input of a network

}  // namespace dala
