// Kernels that PoCL has compiled are shared libraries that it opens to run them. The compiler
// process only wants them compiled: it looks at each, and turns its functions into ones that return
// at once, so no code of a kernel ever runs there.
#pragma once

#include <string>

namespace dala::compiler {

// How many were opened and disarmed so far.
int disarmed();

// Waits until one is refused; says what is wrong with it. The thread that wanted to open it then
// waits for ever.
std::string wait_for_refusal();

// What a shared library in these bytes could do that a kernel cannot need, as a sentence: functions
// of the host that it calls, code that runs when it is opened. Empty for an ordinary kernel.
std::string objection_to(const std::string& bytes);

}  // namespace dala::compiler
