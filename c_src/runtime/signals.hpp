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

// Takes SIGCHLD out of the ignored state. Before the first OpenCL call.
void allow_child_processes();

// Remembers the handlers the host has now. The first call counts.
void remember_signal_handlers();

// Puts the remembered handlers back. After driver initialisation and after compiling.
void restore_signal_handlers();

// Leaves only synchronous signals (those a fault in this very thread raises) to this thread.
void block_asynchronous_signals();

}  // namespace dala
