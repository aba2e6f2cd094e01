// The plan of a pipeline: its stages fused where they can be, temporary buffers given memory only
// where a value has to outlive a kernel, and what there is to tell about it.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/engine.hpp"
#include "plan/plan.hpp"

namespace dala::plan {

// A stage of a pipeline as it was asked for: a node whose values stand for the buffers. Values of
// temporary buffers are temporaries of the plan.
struct PlannedStage {
  Node node;
  std::vector<BufferPtr> inputs;
  BufferPtr output;  // null in a barrier
};

// Turns the stages of a pipeline into nodes. Each buffer has one value, whoever uses it.
class StageBuilder {
 public:
  explicit StageBuilder(Engine& engine) : engine_(engine) {}

  // A validated call of a kernel; none where the expansion allows too little. Throws Error.
  std::optional<PlannedStage> kernel(const std::string& name, const std::vector<BufferPtr>& inputs,
                                     const BufferPtr& output, const Params& params,
                                     Expansion expansion = Expansion::at_once);
  PlannedStage copy(const BufferPtr& from, const BufferPtr& to);

 private:
  ValuePtr value_of(const BufferPtr& buffer);
  Node node_of(const Stage& stage);
  PlannedStage planned(Stage stage);

  Engine& engine_;
  std::map<BufferPtr, ValuePtr> values_;
};

class PipelinePlan {
 public:
  // One launch, for people.
  struct Step {
    std::vector<size_t> stages;  // that it stands for
    std::vector<std::string> kernels;
    std::vector<TensorType> outputs;  // that it writes
    double bytes = 0;                 // that it moves
    double unfused_bytes = 0;         // that its stages would move one by one
  };

  // Results, and what is in the buffers afterwards, are those of running the stages one by one.
  // Throws, with `stage` in the details, for a temporary buffer that is read before it is written.
  // `fuse` false leaves every stage a launch of its own.
  PipelinePlan(Engine& engine, const std::vector<PlannedStage>& stages, bool fuse);

  // The stages of one run, whose temporaries have memory of their own.
  std::vector<Stage> bind(Runtime& runtime) const {
    return plan_.bind(runtime, {}, {}, Plan::Memory::fresh);
  }

  const std::vector<Node>& nodes() const { return plan_.nodes(); }
  const std::vector<Use>& uses() const { return uses_; }     // the first of each buffer
  const std::vector<Step>& steps() const { return steps_; }  // a barrier is one without kernels
  size_t temporary_bytes() const { return plan_.bytes(); }   // that a run allocates

 private:
  std::vector<Node> nodes_of(Engine& engine, const std::vector<PlannedStage>& stages, bool fuse);

  std::vector<Use> uses_;
  std::vector<Step> steps_;
  Plan plan_;
};

}  // namespace dala::plan
