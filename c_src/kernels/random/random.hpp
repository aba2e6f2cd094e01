// Random numbers from a counter: random_uniform, random_normal and random_integer.
#pragma once

#include "kernels/registry.hpp"

namespace dala {

Descriptors random_kernels();

}  // namespace dala
