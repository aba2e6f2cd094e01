// The layouts that launches hand to the kernels of models: the same text that the kernels are
// compiled with.
#pragma once

#include <cstdint>

namespace dala::model {

// NOLINTBEGIN
#include "kernels/model/layouts.cl"
// NOLINTEND

static_assert(sizeof(long) == sizeof(int64_t), "the kernels' long has 64 bits");

}  // namespace dala::model
