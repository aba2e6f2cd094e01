// The thread that all peers are called on. It has the first CPU to itself; threads that a peer
// starts for its own work get the others, one each, as the device's threads do.
#pragma once

#include <functional>

namespace dala::bench {

// Runs the action on the peers' thread and waits for its end. What the action throws is thrown.
void on_peer_thread(const std::function<void()>& action);

// The same, for an action that may start threads: those are given CPUs of their own.
void on_peer_thread_with_helpers(const std::function<void()>& action);

}  // namespace dala::bench
