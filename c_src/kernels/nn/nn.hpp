// The neural network family: convolution, pooling and resizing of planes, and of images.
#pragma once

#include <array>

#include "kernels/planner.hpp"
#include "kernels/registry.hpp"

namespace dala {

Descriptors nn_kernels();

Descriptor conv2d_kernel();
Descriptor conv2d_pack_kernel();
Descriptor conv_transpose2d_kernel();
Descriptor max_pool2d_kernel();
Descriptor avg_pool2d_kernel();
Descriptor resize_kernel();

// How the convolution kernels for CPUs use this device's registers: see vectors_cpu.cl.
struct TileShape {
  int64_t lanes;
  int64_t rows;
  int64_t vectors;

  int64_t pixels() const { return lanes * vectors; }
};
TileShape tile_shape(const Planner& planner, DType dtype);

// How they use them where the channels of a pixel are next to each other: see panel_tile_cpu.cl.
struct PanelShape {
  int64_t lanes;
  int64_t most_vectors;
  std::array<int64_t, 5> rows;  // by the number of vectors
};
PanelShape panel_shape(const Planner& planner, DType dtype);

// The one program that holds all of this family's kernels for an element type.
std::shared_ptr<Program> nn_program(Planner& planner, DType dtype);

// The number of a kernel of that program as a step of a sequence, see runtime/sequence.hpp; of
// those for floats, on devices that can.
std::optional<uint32_t> sequence_member(const Planner& planner, const std::string& entry);

}  // namespace dala
