// The cost of a call as C++ has it on the bare OpenCL interface.
#pragma once

namespace dala::bench {

// Answers every line on standard input with a round: the median time, in nanoseconds, of enqueueing
// relu of 1024 elements and waiting for it. Ends with the input. It is a process of its own, and
// so are its rounds between those of the Erlang VM, whose calls they are compared with.
void serve_calls();

}  // namespace dala::bench
