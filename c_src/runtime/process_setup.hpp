// What the process must look like before the first OpenCL call.
#pragma once

#include "runtime/config.hpp"

namespace dala {

// Lets drivers run child processes, remembers the host's signal handlers, and gives PoCL a kernel
// cache it can write: with one it cannot use it finds no device at all. Twice is fine.
void prepare_process(const Config& config);

}  // namespace dala
