// Launches of pixel filters: every kernel whose output pixel depends only on the input pixel at the
// same position.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/fusion/body.hpp"
#include "kernels/image/image.hpp"
#include "kernels/image/pixels/pixels_args.h"

namespace dala {

// A filter on one pixel: a function of pixel_ops.cl.
struct PixelOp {
  std::string body;
  bool needs_place = false;  // whether the result depends on the position of the pixel
};

// One instance of the loop: a kernel `entry` that applies the function `body` to pixels of these
// channels.
Part pixel_part(const Planner& planner, const std::string& entry, const std::string& body,
                int64_t channels, int64_t out_channels);

// How kernels of one item per chunk are divided: chunks of pixels, or of elements, in the CPU
// family, chunks of one in the GPU family.
struct Chunks {
  int64_t chunk = 1;
  Range range;
};
Chunks chunks_of(const Planner& planner, int64_t count);

// The filter as a stage that pipelines can fuse. Precondition: it does not need the position.
Body pixel_body(const PixelOp& op, const Call& call, const Image& image, int64_t out_channels,
                const PixelValues& values);

// One launch over an image.
Launch pixel_launch(Planner& planner, const PixelOp& op, const Call& call, const Image& image,
                    int64_t out_channels, const PixelValues& values);

}  // namespace dala
