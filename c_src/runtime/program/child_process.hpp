// Runs a program to completion with some input and a time limit, in a process group of its own.
// Another thread can end it early.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

namespace dala {

struct ChildOutcome {
  enum class End { not_started, timed_out, stopped, signalled, exited };
  End end = End::not_started;
  int code = 0;            // errno of a failed start, the signal, or the exit status
  std::string output;      // standard output
  std::string last_words;  // the end of standard error
};

// Waits until the child has ended or `stop` becomes true; for worker threads only.
ChildOutcome run_child(const std::string& program, const std::string& input,
                       std::chrono::milliseconds limit, const std::atomic<bool>& stop);

}  // namespace dala
