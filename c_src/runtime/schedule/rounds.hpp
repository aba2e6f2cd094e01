// Rounds of a command; for the scheduler's own files only.
#pragma once

#include "runtime/schedule/command.hpp"

namespace dala {

// Gives a command the parts of its current round. Needs no lock: the command is being enqueued, and
// the caller has exclusive access to its parts.
void take_round(Command& command);

}  // namespace dala
