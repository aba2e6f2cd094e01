// The runtime together with its kernels: turns a named call into a stage that the scheduler runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/fusion/pipeline_plan.hpp"
#include "kernels/planner.hpp"
#include "kernels/registry.hpp"
#include "runtime/runtime.hpp"

namespace dala {

class Engine {
 public:
  explicit Engine(const Config& config);

  Runtime& runtime() { return runtime_; }
  Registry& registry() { return registry_; }
  Planner& planner() { return planner_; }

  // Validates a call of a kernel that is one launch, and plans it. Nothing runs and no buffer
  // changes.
  Stage stage(const std::string& kernel, const std::vector<BufferPtr>& inputs,
              const BufferPtr& output, const Params& params);
  // The same of what may be more than one launch. Throws NotReady.
  std::vector<Stage> stages(const std::string& kernel, const std::vector<BufferPtr>& inputs,
                            const BufferPtr& output, const Params& params);
  // A copy from one buffer to another of the same type.
  Stage copy_stage(const BufferPtr& from, const BufferPtr& to);

  // The same as stages of a pipeline, which may be fused. Throws NotReady.
  PlannedStage pipeline_stage(const std::string& kernel, const std::vector<BufferPtr>& inputs,
                              const BufferPtr& output, const Params& params);
  PlannedStage pipeline_copy(const BufferPtr& from, const BufferPtr& to);
  // Fused where it can be, unless the configuration says otherwise.
  PipelinePlan plan(const std::vector<PlannedStage>& stages);

 private:
  Stage planned(const Descriptor& descriptor, const Call& call,
                const std::vector<BufferPtr>& inputs, const BufferPtr& output);

  Runtime runtime_;
  Registry registry_;
  Planner planner_;
};

}  // namespace dala
