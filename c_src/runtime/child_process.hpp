// A program that is run to its end with some input, within a limit of time, in a process group of
// its own. Another thread can end it early.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

namespace dala {

struct ChildOutcome {
  enum class End { not_started, timed_out, stopped, signalled, exited };
  End end = End::not_started;
  int code = 0;            // errno of the start, the signal, or the exit status
  std::string output;      // its standard output
  std::string last_words;  // the end of its standard error
};

// Waits for the end, or for `stop` to become true: for worker threads only.
ChildOutcome run_child(const std::string& program, const std::string& input,
                       std::chrono::milliseconds limit, const std::atomic<bool>& stop);

}  // namespace dala
