// Pins a driver's worker threads. A CPU driver starts one per core without pinning them, and the
// operating system often puts two on one core for the few microseconds of a small kernel; with a
// core each they are up to twice as fast.
#pragma once

#include <functional>
#include <vector>

namespace dala {

// Runs the action and returns the ids of the threads that the process has gained. No other thread
// may be started meanwhile. Empty where the system does not list threads.
std::vector<int> threads_started_by(const std::function<void()>& action);

// Pins each thread to its own CPU among those this process may use. Does nothing if there are fewer
// CPUs than threads.
void spread_over_cpus(const std::vector<int>& threads);

// The id of the calling thread, or 0 where threads have none.
int this_thread();

bool is_this_thread_among(const std::vector<int>& threads);

}  // namespace dala
