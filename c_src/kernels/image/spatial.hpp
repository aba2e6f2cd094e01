// Filters that look at a pixel's neighbours, and the one program that they share.
#pragma once

#include "kernels/image/image.hpp"

namespace dala {

Descriptor blur_kernel();
Descriptor sharpen_kernel();
Descriptor denoise_kernel();
Descriptor beauty_kernel();
Descriptor edge_detect_kernel();

// The program that holds these kernels for an element type.
std::shared_ptr<Program> spatial_program(Planner& planner, DType dtype);

// CPU class: floats of a vector register, 8 or 16.
int64_t vector_floats(const Planner& planner);

// CPU class: what lines may take that are to stay in the cache next to the core.
int64_t line_bytes(const Planner& planner);

// CPU class: what a work-group owns. The same layout as the struct of that name in image.cl.
struct Tile {
  int32_t columns = 1;
  int32_t rows = 1;
};

// Tiles of at most so many columns, as even as can be, and enough of them to keep all cores busy.
Tile tile_of(const Planner& planner, const Image& image, int64_t most_columns);
Range tile_range(const Image& image, const Tile& tile);

// GPU class: an item per pixel or element.
Range item_range(const Planner& planner, int64_t count);

}  // namespace dala
