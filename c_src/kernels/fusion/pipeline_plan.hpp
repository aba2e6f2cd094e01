// The plan of a pipeline: its stages fused where they can be, temporary buffers given memory only
// where a value has to outlive a kernel, and what there is to tell about it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/fusion/groups.hpp"

namespace dala {

struct PipelinePlan {
  // One launch, for people.
  struct Step {
    std::vector<size_t> stages;  // that it stands for
    std::vector<std::string> kernels;
    std::vector<TensorType> outputs;  // that it writes
    double bytes = 0;                 // that it moves
    double unfused_bytes = 0;         // that its stages would move one by one
  };

  std::vector<Stage> stages;   // for the scheduler
  std::vector<Use> uses;       // the first of each buffer
  std::vector<Step> steps;     // barriers are steps too, with a stage and no kernel
  size_t temporary_bytes = 0;  // memory that temporary buffers take while it runs
};

// Results, and what is in the buffers afterwards, are those of running the stages one by one; only
// what nobody can see is left out. Throws, with `stage` in the details, for a temporary buffer that
// is read before it is written. `fuse` false leaves every stage a launch of its own.
PipelinePlan plan_pipeline(const std::vector<PlannedStage>& stages, Planner& planner, bool fuse);

}  // namespace dala
