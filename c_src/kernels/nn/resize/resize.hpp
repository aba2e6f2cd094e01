// The extents of a `resize` call, for all layouts of its planes.
#pragma once

#include <cstdint>

#include "kernels/descriptor.hpp"

namespace dala {

// Planes of pixels with adjacent channels: {n, c, h, w} has a plane per channel, {n, h, w, c} of
// `layout` nhwc, {h, w, c} and {h, w} have one per image.
struct ResizedPlanes {
  int64_t planes = 1;
  int64_t height = 0;
  int64_t width = 0;
  int64_t out_height = 0;
  int64_t out_width = 0;
  int64_t channels = 1;
};
ResizedPlanes view_of_planes(const Call& call);

}  // namespace dala
