// The plans of a model, one for each combination of input shapes, and of the values of small
// integer inputs where these determine shapes.
//
// Thread-safe. One lock guards the plans, the planner and the state below. A thread that plans, or
// runs the graph node by node, holds it to the end, so only `find` may be called from a thread that
// must not wait. Plans are shared with the predictions that use them: an evicted plan lives until
// the last of its commands has ended, and `free` takes the memory of all plans at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "model/graph_planner.hpp"

namespace dala::model {

// `freed`, for calls of a model after it was freed.
Error model_freed();
// `unsupported`, for uses of a model that need a plan where it has none.
Error needs_plan(const std::string& use);

class PlanCache {
 public:
  PlanCache(Engine& engine, Graph graph) : engine_(engine), planner_(engine, std::move(graph)) {}

  const std::vector<Port>& inputs() const { return planner_.inputs(); }
  const std::vector<Port>& outputs() const { return planner_.outputs(); }
  const GraphPlanner::Counts& counts() const { return planner_.counts(); }
  size_t working_bytes();  // the arenas of all plans

  // The plan for these shapes, which is made if there is none. Null if shapes or branches depend on
  // values: `run` is then the way to predict. Without `inputs` there are no values to plan for.
  // Throws `freed`.
  PlanPtr find_or_make(const std::vector<Shape>& shapes,
                       const std::vector<BufferPtr>* inputs = nullptr);

  // The plan for these shapes; null if there is none yet, or another thread is planning. Never
  // waits. Throws `freed`, or `unsupported` if plans depend on values.
  PlanPtr find(const std::vector<Shape>& shapes);

  // Runs the graph node by node, to its end. Throws `freed`.
  std::vector<BufferPtr> run(const std::vector<BufferPtr>& inputs);

  void forget_packed_weights();

  // Frees the memory of all plans, and the constants.
  void free();
  bool freed() const { return freed_; }

 private:
  // The shapes of all inputs, followed by the values of those that a plan was made for.
  using Key = std::vector<Shape>;
  struct Entry {
    PlanPtr plan;
    uint64_t used = 0;  // the value of uses_ at its last use
  };

  PlanPtr look_up(const Key& key);            // with the lock held; throws `freed`
  void insert(const Key& key, PlanPtr plan);  // with the lock held; evicts the least recently used
  PlanPtr find_or_make(const std::vector<Shape>& shapes, const InputValues& values);
  InputValues small_values(const std::vector<BufferPtr>& inputs) const;

  Engine& engine_;
  std::mutex mutex_;
  GraphPlanner planner_;
  std::map<Key, Entry> plans_;
  uint64_t uses_ = 0;
  size_t new_values_ = 0;  // plans made in a row for values that had none
  bool unplannable_ = false;
  // Atomic, because they are read without the lock: while it is held by a thread that plans, and
  // after a command failed.
  std::atomic<bool> by_value_{false};
  std::atomic<bool> freed_{false};
};

}  // namespace dala::model
