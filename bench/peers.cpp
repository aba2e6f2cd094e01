#include "bench/peers.hpp"

#include <sched.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <vector>

#include "runtime/device/thread_placement.hpp"
#include "runtime/process/worker.hpp"

namespace dala::bench {
namespace {

Worker& peer_thread() {
  static auto* worker = new Worker("peer", 1);
  return *worker;
}

}  // namespace

void on_peer_thread(const std::function<void()>& action) {
  std::promise<void> done;
  peer_thread().post([&] {
    try {
      action();
      done.set_value();
    } catch (...) {
      done.set_exception(std::current_exception());
    }
  });
  done.get_future().get();
}

void on_peer_thread_with_helpers(const std::function<void()>& action) {
  std::vector<int> threads;
  const auto started = threads_started_by([&] {
    on_peer_thread([&] {
      threads.push_back(gettid());
      // On all CPUs meanwhile: libraries count those that the calling thread may use.
      cpu_set_t allowed;
      if (sched_getaffinity(getpid(), sizeof(allowed), &allowed) == 0) {
        sched_setaffinity(0, sizeof(allowed), &allowed);
      }
      action();
    });
  });
  threads.insert(threads.end(), started.begin(), started.end());
  spread_over_cpus(threads);
}

}  // namespace dala::bench
