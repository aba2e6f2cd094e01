// Faster implementations of `resize` for images.
#pragma once

#include <optional>

#include "kernels/image/image.hpp"

namespace dala {

// The launch of a checked call of resize, if there is a faster implementation than that for planes.
std::optional<Launch> plan_resample(const Call& call, Planner& planner);

}  // namespace dala
