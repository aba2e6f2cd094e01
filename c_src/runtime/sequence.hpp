// Many steps in one launch. A launch of its own costs a step of a model tens of microseconds on a
// CPU driver, whose threads go to sleep and are woken for each, and that is as long as many layers
// take. Here the driver's threads stay in one kernel that goes from step to step: each takes the
// next work-group that nobody has taken, and where there is none waits, awake, for those that
// others have taken. Nobody waits for a work-group that no thread works on, so it does not matter
// how many of the threads the driver gives us, or when; and whoever has waited for long leaves, so
// that little is lost where something else needs the processor.
//
// A program that has such a kernel, run_sequence, numbers the kernels which are members of it. It
// finds their arguments in memory, with addresses for buffers, see kernels/nn/sequence_cpu.cl; so
// this is only for devices whose kernels see memory where the host does.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/command.hpp"

namespace dala {

// Parts first..end of a command that run as one launch.
struct Sequence {
  size_t first = 0;
  size_t end = 0;
  Program* program = nullptr;
  size_t steps = 0;
  size_t bytes = 0;        // of memory for their arguments
  size_t local_bytes = 0;  // the most that a step needs
};

// The stretches of parts that can run as one launch, in order. Each is at least two steps, and only
// so much work that others need not wait for long.
std::vector<Sequence> sequences_of(const std::vector<BoundStage>& parts);

// Writes the steps, ready to start, to `memory` of `sequence.bytes`.
void write_steps(const Sequence& sequence, const std::vector<BoundStage>& parts, std::byte* memory);

}  // namespace dala
