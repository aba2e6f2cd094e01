// The one engine of this VM: started on request, found by every NIF, stopped when the library is
// unloaded.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "kernels/engine.hpp"
#include "model/prediction_queue.hpp"
#include "runtime/process/worker.hpp"

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

  // Runs `job`, which takes minutes and ends early once `stopping`, on a thread of its own.
  void post_tuning(std::function<void()> job);
  bool stopping() const { return stopping_; }

  // Predictions that wait for one of these threads.
  model::PredictionQueue& predictions() { return predictions_; }

  // Starts the engine unless it runs already; on the starter thread only. Throws.
  void start(const Config& config);

  // Told, from any thread and at most once for each engine, that its device is lost.
  void on_lost(std::function<void(const Error&)> listener);

  // Told, while the engine starts, what its user should know and need not do anything about.
  void on_note(std::function<void(const std::string&)> listener);

  // The running engine. Throws `no_device`, with the reason if starting it has failed.
  std::shared_ptr<Engine> engine();

  // The running engine, or null.
  std::shared_ptr<Engine> running();

  // Drops what it is given, on another thread while the engine runs: memory on the one that gives
  // memory back, anything else on a worker.
  void let_go_memory(std::shared_ptr<void> object);
  void let_go(std::shared_ptr<void> object);

  // The process is about to end, with this status where it is known: stops whatever compiles, and
  // nothing else.
  void abandon(std::optional<int> status);

  // A module that was purged while some of its resources lived is unloaded only when the last one
  // is collected, and may have been loaded again by then: what they share ends with the last.
  void loaded() { ++loads_; }
  void unloaded() {
    if (--loads_ == 0) stop();
  }

 private:
  void tell(const std::string& note);  // once for each
  // Joins every thread, unless the device is lost. The next `post` begins anew.
  void stop();

  std::atomic<int> loads_{0};
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::unique_ptr<Worker> starter_;
  std::unique_ptr<Worker> models_;
  std::unique_ptr<Worker> tuner_;
  std::shared_ptr<Engine> engine_;
  std::optional<Error> failure_;
  std::function<void(const Error&)> lost_listener_;
  std::function<void(const std::string&)> note_listener_;
  std::string last_note_;
  model::PredictionQueue predictions_{
      [this](std::function<void()> job) { post_model(std::move(job)); }};
};

inline std::shared_ptr<Engine> engine() { return Instance::get().engine(); }
// Of the running engine, which goes only when the library is unloaded.
inline Scheduler& scheduler() { return engine()->runtime().scheduler(); }

}  // namespace dala::nif
