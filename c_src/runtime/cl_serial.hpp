// For drivers whose functions must not be called from two threads at a time.
#pragma once

namespace dala {

// From now on, calls through `cl()` wait for each other.
void serialize_cl();

}  // namespace dala
