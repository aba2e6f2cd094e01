// The drawing family: rectangles and lines on RGBA images, and making such images opaque.
#pragma once

#include "kernels/planner.hpp"
#include "kernels/registry.hpp"

namespace dala {

Descriptors draw_kernels();

}  // namespace dala
