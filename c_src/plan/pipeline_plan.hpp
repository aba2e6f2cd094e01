// The plan of a pipeline: its stages after fusion, with memory only for temporaries that have to
// outlive a kernel, and a description of the result for users.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/engine.hpp"
#include "plan/plan.hpp"

namespace dala::plan {

// A stage of a pipeline before fusion: a node whose values stand for the buffers. Temporary buffers
// are temporaries of the plan.
struct PlannedStage {
  Node node;
  std::vector<BufferPtr> inputs;
  std::vector<BufferPtr> outputs;  // empty for a barrier
};

// Temporary buffers that stand for the inputs and outputs of a pipeline. Each call provides the
// buffers of the inputs, and gets new buffers for the outputs.
struct Ports {
  std::vector<BufferPtr> inputs;
  std::vector<BufferPtr> outputs;
};

// Turns the stages of a pipeline into nodes. All stages that use a buffer share its value.
class StageBuilder {
 public:
  explicit StageBuilder(Engine& engine, const Ports& ports = {});

  // A validated call of a kernel; none if the expansion does not allow enough. Throws Error.
  std::optional<PlannedStage> kernel(const std::string& name, const std::vector<BufferPtr>& inputs,
                                     const BufferPtr& output, const Params& params,
                                     Expansion expansion = Expansion::at_once,
                                     const std::vector<BufferPtr>& more_outputs = {});
  PlannedStage copy(const BufferPtr& from, const BufferPtr& to);

 private:
  ValuePtr value_of(const BufferPtr& buffer);
  Node node_of(const Stage& stage);
  PlannedStage planned(Stage stage);

  Engine& engine_;
  std::unordered_map<BufferPtr, ValuePtr> values_;
};

class PipelinePlan {
 public:
  // A launch as it is described to users.
  struct Step {
    std::vector<size_t> stages;  // that it executes
    std::vector<std::string> kernels;
    std::vector<TensorType> outputs;  // that it writes
    double bytes = 0;                 // moved
    double unfused_bytes = 0;         // moved by its stages without fusion
  };

  // Results, and the final content of buffers, are those of running the stages one by one. Throws,
  // with `stage` in the details, for a temporary buffer that is read before it is written. If
  // `fuse` is false, every stage is a launch of its own.
  PipelinePlan(Engine& engine, const std::vector<PlannedStage>& stages, bool fuse,
               Ports ports = {});

  // The plan with other parameters for some stages. None if that affects more than the launches of
  // these stages, so that all stages have to be planned again.
  std::optional<PipelinePlan> with(Engine& engine,
                                   const std::map<size_t, PlannedStage>& changed) const;

  // The stages of one run, with a fresh arena. Throws if the pipeline has ports.
  std::vector<Stage> bind(Runtime& runtime) const;

  // Several runs, one after the other, as rounds of one command. A round has as many runs as keep
  // it short, on the device and when it is enqueued. Between runs, the buffers of each pair in
  // `swaps` exchange their content. Throws for zero runs, for buffers that cannot be swapped, and
  // if the pipeline has ports.
  struct Runs {
    std::vector<Stage> stages;  // of one round
    Scheduler::Repetition repetition;
  };
  Runs bind(Runtime& runtime, uint64_t times, const Plan::Swaps& swaps) const;

  // One call of a pipeline with ports. Throws for inputs whose types differ from the ports', or
  // that have no memory.
  struct Called {
    std::vector<Stage> stages;
    std::vector<Use> uses;
    std::vector<BufferPtr> outputs;
  };
  Called call(Runtime& runtime, const std::vector<BufferPtr>& inputs) const;

  const std::vector<Node>& nodes() const { return plan_.nodes(); }
  const std::vector<Use>& uses() const { return uses_; }     // the first of each buffer
  const std::vector<Step>& steps() const { return steps_; }  // a barrier has no kernels
  size_t temporary_bytes() const { return plan_.bytes(); }   // allocated by each run

 private:
  std::vector<Node> nodes_of(Engine& engine, const std::vector<PlannedStage>& stages, bool fuse);
  void require_no_ports() const;
  void check_swaps(const Plan::Swaps& swaps) const;

  // The node of a step, and the build options of its kernel.
  struct Origin {
    size_t node = kNone;  // kNone if the step has no launch, or several
    std::string options;
  };
  static constexpr size_t kNone = SIZE_MAX;

  Ports ports_;
  std::vector<Node> stages_;     // before fusion
  std::vector<size_t> step_of_;  // by stage
  std::vector<Origin> origins_;  // by step
  std::vector<Use> uses_;
  std::vector<Step> steps_;
  Plan plan_;
};

}  // namespace dala::plan
