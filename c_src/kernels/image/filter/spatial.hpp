// Filters over the neighbourhood of a pixel, and the program that they share.
#pragma once

#include "kernels/image/image.hpp"
#include "kernels/image/image_args.h"

namespace dala {

Descriptor blur_kernel();
Descriptor sharpen_kernel();
Descriptor denoise_kernel();
Descriptor beauty_kernel();
Descriptor edge_detect_kernel();
Descriptor erode_kernel();
Descriptor dilate_kernel();

// The program with these kernels for one element type.
std::shared_ptr<Program> spatial_program(Planner& planner, DType dtype);

// CPU class: floats per vector register, 8 or 16.
int64_t vector_floats(const Planner& planner);

// CPU class: bytes of lines that stay in the private cache of a core.
int64_t line_bytes(const Planner& planner);

// Tiles of at most `max_columns` columns, of even size, and enough of them to keep all cores busy.
Tile tile_of(const Planner& planner, const Image& image, int64_t max_columns);
Range tile_range(const Image& image, const Tile& tile);

// GPU class: one item per pixel or element.
Range item_range(const Planner& planner, int64_t count);

}  // namespace dala
