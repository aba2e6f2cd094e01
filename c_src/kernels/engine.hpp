// The runtime together with its kernels: turns a named call into a stage that the scheduler runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

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

  // Validates a call and plans its launch. Nothing runs and no buffer changes.
  Stage stage(const std::string& kernel, const std::vector<BufferPtr>& inputs,
              const BufferPtr& output, const Params& params);
  // A copy from one buffer to another of the same type.
  Stage copy_stage(const BufferPtr& from, const BufferPtr& to);

 private:
  Runtime runtime_;
  Registry registry_;
  Planner planner_;
};

}  // namespace dala
