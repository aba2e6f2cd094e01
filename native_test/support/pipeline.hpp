// Pipelines for tests: stages are added one by one, planned with or without fusion, and run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plan/pipeline_plan.hpp"
#include "support/engine_fixture.hpp"

namespace dala::test {

using plan::PipelinePlan;

class TestPipeline {
 public:
  TestPipeline& add(const std::string& kernel, const std::vector<BufferPtr>& inputs,
                    const BufferPtr& output, const Params& params = {}) {
    stages_.push_back(builder_.kernel(kernel, inputs, output, params).value());
    return *this;
  }
  TestPipeline& copy(const BufferPtr& from, const BufferPtr& to) {
    stages_.push_back(builder_.copy(from, to));
    return *this;
  }
  TestPipeline& barrier() {
    stages_.emplace_back();
    return *this;
  }

  PipelinePlan plan(bool fuse = true) const { return PipelinePlan(engine(), stages_, fuse); }
  static CommandId submit(const PipelinePlan& plan, std::shared_ptr<Client> client) {
    Runtime& runtime = engine().runtime();
    return runtime.scheduler().submit(plan.bind(runtime), std::move(client), nullptr, nullptr,
                                      plan.uses());
  }
  static void run(const PipelinePlan& plan) {
    Runtime& runtime = engine().runtime();
    runtime.wait(submit(plan, nullptr));
  }
  void run(bool fuse = true) const { run(plan(fuse)); }

 private:
  plan::StageBuilder builder_{engine()};
  std::vector<plan::PlannedStage> stages_;
};

inline BufferPtr temporary(DType dtype, Shape shape) {
  return engine().runtime().temporary(checked_type(dtype, std::move(shape)));
}

// The stages of every launch: "0 1 2 | 3".
inline std::string groups(const PipelinePlan& plan) {
  std::string result;
  for (const PipelinePlan::Step& step : plan.steps()) {
    if (!result.empty()) result += " |";
    for (size_t stage : step.stages) result += (result.empty() ? "" : " ") + std::to_string(stage);
  }
  return result;
}

}  // namespace dala::test
