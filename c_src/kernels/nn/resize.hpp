// A call of `resize` in numbers, whichever way its planes are laid out.
#pragma once

#include <cstdint>

#include "kernels/descriptor.hpp"

namespace dala {

// Planes of pixels, the channels of each next to each other: {n, c, h, w} has a plane per channel,
// {n, h, w, c} by `layout`, {h, w, c} and {h, w} have one per picture.
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
