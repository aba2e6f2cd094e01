// Filters made of a Gaussian blur, and the one program that the filters which look at neighbours
// share.
#pragma once

#include <array>

#include "kernels/image/image.hpp"

namespace dala {

Descriptor blur_kernel();

// The program that holds these kernels for an element type.
std::shared_ptr<Program> spatial_program(Planner& planner, DType dtype);

}  // namespace dala
