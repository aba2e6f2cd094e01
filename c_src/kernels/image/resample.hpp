// Faster ways for calls of `resize` that are about pictures.
#pragma once

#include <optional>

#include "kernels/image/image.hpp"

namespace dala {

// The launch for a checked call of resize, where there is a faster way than that for planes.
std::optional<Launch> plan_resample(const Call& call, Planner& planner);

}  // namespace dala
