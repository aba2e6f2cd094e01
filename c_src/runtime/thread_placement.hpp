// Where a driver's worker threads run. A CPU driver starts one per core and leaves the rest to
// the operating system, which often puts two of them on one core for the few microseconds that a
// small kernel takes; each with a core of its own is up to twice as fast.
#pragma once

#include <functional>
#include <vector>

namespace dala {

// Runs the action and gives the ids of the threads that the process has more of afterwards.
// Nothing else should be starting threads meanwhile. Empty where the system cannot tell.
std::vector<int> threads_started_by(const std::function<void()>& action);

// Gives each thread one CPU, of those that this process is allowed to use. Does nothing when
// these are too few for all threads.
void spread_over_cpus(const std::vector<int>& threads);

// Whether the calling thread is one of these.
bool is_this_thread_among(const std::vector<int>& threads);

}  // namespace dala
