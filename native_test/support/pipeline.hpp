// Pipelines for tests: stages, added one by one, planned with or without fusion, and run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernels/fusion/pipeline_plan.hpp"
#include "support/engine_fixture.hpp"

namespace dala::test {

class TestPipeline {
 public:
  TestPipeline& add(const std::string& kernel, const std::vector<BufferPtr>& inputs,
                    const BufferPtr& output, const Params& params = {}) {
    stages_.push_back(engine().pipeline_stage(kernel, inputs, output, params));
    return *this;
  }
  TestPipeline& copy(const BufferPtr& from, const BufferPtr& to) {
    stages_.push_back(engine().pipeline_copy(from, to));
    return *this;
  }
  TestPipeline& barrier() {
    stages_.emplace_back();
    return *this;
  }

  PipelinePlan plan(bool fuse = true) const {
    return plan_pipeline(stages_, engine().planner(), fuse);
  }
  static void run(const PipelinePlan& plan) {
    Runtime& runtime = engine().runtime();
    runtime.wait(runtime.scheduler().submit(plan.stages, nullptr, nullptr, nullptr, plan.uses));
  }
  void run(bool fuse = true) const { run(plan(fuse)); }

 private:
  std::vector<PlannedStage> stages_;
};

inline BufferPtr temporary(DType dtype, Shape shape) {
  return engine().runtime().temporary(checked_type(dtype, std::move(shape)));
}

// The stages of every launch: "0 1 2 | 3".
inline std::string groups(const PipelinePlan& plan) {
  std::string result;
  for (const PipelinePlan::Step& step : plan.steps) {
    if (!result.empty()) result += " |";
    for (size_t stage : step.stages) result += (result.empty() ? "" : " ") + std::to_string(stage);
  }
  return result;
}

}  // namespace dala::test
