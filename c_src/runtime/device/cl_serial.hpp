// For drivers whose functions are not thread-safe.
#pragma once

namespace dala {

// From now on, calls through `cl()` are serialised.
void serialize_cl();

}  // namespace dala
