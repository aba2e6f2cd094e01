// The structs that launches pass to the model kernels. Host and device compile the same header.
#pragma once

#include <cstdint>

namespace dala::model {

// NOLINTBEGIN
#include "kernels/model/layouts.h"
// NOLINTEND

static_assert(sizeof(long) == sizeof(int64_t), "the kernels' long has 64 bits");

}  // namespace dala::model
