// Launching pixel filters: one way for every kernel whose output pixel depends on the input pixel
// at the same place.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/fusion/body.hpp"
#include "kernels/image/image.hpp"

namespace dala {

// A filter on one pixel: a function of pixel_ops.cl.
struct PixelOp {
  std::string body;
  bool needs_place = false;  // whether the result depends on where the pixel is
};

// The parameters of a filter; the same layout as the struct of that name in pixels.cl.
struct PixelValues {
  std::array<float, 4> at{};
};

// What all filters' programs begin with: pixels of that element type, and how to reach them.
std::vector<Part> pixel_preamble(const Planner& planner, DType dtype);

// One instance of the loop: a kernel `entry` that applies the function `body` to pixels of so many
// channels.
Part pixel_part(const Planner& planner, const std::string& entry, const std::string& body,
                int64_t channels, int64_t out_channels);

// How kernels of one item per chunk are cut: chunks of pixels, or of elements, for devices that are
// CPUs, otherwise items of one.
struct Chunks {
  int64_t chunk = 1;
  Range range;
};
Chunks chunks_of(const Planner& planner, int64_t count);

// The filter as a stage that pipelines can fuse; it must not need the place.
Body pixel_body(const Planner& planner, const PixelOp& op, const Call& call, const Image& image,
                int64_t out_channels, const PixelValues& values);

// One launch over an image.
Launch pixel_launch(Planner& planner, const PixelOp& op, const Call& call, const Image& image,
                    int64_t out_channels, const PixelValues& values);

}  // namespace dala
