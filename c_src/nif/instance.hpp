// The one engine of this VM: started on request, found by every NIF, stopped when the library is
// unloaded.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "kernels/engine.hpp"
#include "runtime/worker.hpp"

namespace dala::nif {

class Instance {
 public:
  static Instance& get();

  // Runs `job` on the starter thread; starting and surveying devices take long and must not
  // happen on a scheduler.
  void post(std::function<void()> job);

  // Runs `job` on the threads for models, where loading and planning take their time and steps that
  // depend on values wait for the device.
  void post_model(std::function<void()> job);

  // Starts the engine unless it runs already; on the starter thread only. Throws.
  void start(const Config& config);

  // The running engine. Throws `no_device`: because starting failed, with that reason, or because
  // nobody has started it.
  std::shared_ptr<Engine> engine();

  // Drops what it is given, on another thread while the engine runs.
  void let_go(std::shared_ptr<void> object);

  // The process is about to end: stops whatever compiles, and nothing else.
  void abandon();

  // Joins every thread. The next `post` begins anew.
  void stop();

 private:
  std::mutex mutex_;
  std::unique_ptr<Worker> starter_;
  std::unique_ptr<Worker> models_;
  std::shared_ptr<Engine> engine_;
  std::optional<Error> failure_;
};

inline std::shared_ptr<Engine> engine() { return Instance::get().engine(); }

}  // namespace dala::nif
