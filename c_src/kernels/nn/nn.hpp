// The neural network family: convolution, pooling, recurrent layers, and resizing of planes and
// images.
#pragma once

#include <array>

#include "kernels/planner.hpp"
#include "kernels/registry.hpp"

namespace dala {

struct GemmTiles;

Descriptors nn_kernels();

Descriptor conv_kernel();
Descriptor conv2d_kernel();
Descriptor conv2d_pack_kernel();
Descriptor conv_transpose2d_kernel();
Descriptor max_pool2d_kernel();
Descriptor avg_pool2d_kernel();
Descriptor resize_kernel();

// The register tile of the NCHW convolutions in the CPU family: see vectors_cpu.cl.
struct TileShape {
  int64_t lanes;
  int64_t rows;
  int64_t vectors;

  int64_t pixels() const { return lanes * vectors; }
};
TileShape tile_shape(const Planner& planner, DType dtype);

// The register tile of the NHWC convolutions: see panel_tile_cpu.cl.
struct PanelShape {
  int64_t lanes;
  int64_t max_vectors;
  std::array<int64_t, 5> rows;  // by the number of vectors
};
PanelShape panel_shape(const Planner& planner, DType dtype);

// The program with all kernels of this family for one element type.
std::shared_ptr<Program> nn_program(Planner& planner, DType dtype);
// The same, compiled for other tiles of matrix products.
std::shared_ptr<Program> nn_program(Planner& planner, DType dtype, const GemmTiles& tiles);

}  // namespace dala
