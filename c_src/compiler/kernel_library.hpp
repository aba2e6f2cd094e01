// PoCL opens each compiled kernel as a shared library. The compiler process only wants them
// compiled: it inspects each library and patches its functions to return at once, so no kernel code
// ever runs there.
#pragma once

#include <string>

namespace dala::compiler {

// The number of libraries opened and patched.
int disarmed();

// Waits until a library is refused, and returns why. The thread that tried to open it then blocks
// for ever.
std::string wait_for_refusal();

// A sentence about the first thing in a shared library that no kernel needs: calls of host
// functions, code that runs at load time. Empty for an ordinary kernel.
std::string objection_to(const std::string& bytes);

}  // namespace dala::compiler
