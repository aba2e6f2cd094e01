// The runtime together with its kernels: turns a named call into a stage that the scheduler runs.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "kernels/fusion/pipeline_plan.hpp"
#include "kernels/planner.hpp"
#include "kernels/registry.hpp"
#include "runtime/runtime.hpp"

namespace dala {

class Engine {
 public:
  explicit Engine(const Config& config, std::function<void(const Error&)> on_lost = nullptr);

  // Jobs of the runtime's threads refer to the registry and the planner, which go before it.
  ~Engine() { runtime_.stop(); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Runtime& runtime() { return runtime_; }
  Registry& registry() { return registry_; }
  Planner& planner() { return planner_; }

  // Adds a kernel of a user's own. With it goes what was compiled for it, in memory and on disk.
  void add_custom(Descriptor descriptor);
  bool remove_custom(const std::string& name);

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

  using Programs = std::set<std::shared_ptr<Program>>;

  std::mutex custom_mutex_;
  std::map<std::string, std::shared_ptr<Programs>> custom_programs_;  // by the kernel's name
  Runtime runtime_;
  Registry registry_;
  Planner planner_;
};

}  // namespace dala
