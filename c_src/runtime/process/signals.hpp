// Signals and OpenCL drivers. Two things go wrong when a compiler-based driver (PoCL) shares a
// process with a host that cares about its signals, as the Erlang VM does:
//
// - The VM ignores SIGCHLD, and then waiting for a child process fails. PoCL links kernels in a
//   child process and aborts when the wait fails, so SIGCHLD must have its default action.
// - LLVM installs handlers for most signals when it starts, and again when it compiles. The host
//   must get its own back, except SIGFPE: with the driver's handler an integer division by zero
//   in a user's kernel is survived.
#pragma once

namespace dala {

// Stops ignoring SIGCHLD. To be called before the first OpenCL call.
void allow_child_processes();

// Saves the host's current handlers. Only the first call has an effect.
void remember_signal_handlers();

// Restores the saved handlers, after a driver has been initialised and after each compilation.
void restore_signal_handlers();

// Blocks all signals on this thread but synchronous ones, which a fault of the thread itself
// raises.
void block_asynchronous_signals();

}  // namespace dala
