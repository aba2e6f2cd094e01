// One generated kernel for several nodes: its source, its arguments and its launch.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/fusion/body.hpp"

namespace dala::plan {

// What the kernel does at each place, in order: loads, steps, stores. All steps have the same loop
// and the same places; parameters are arguments, so recipes that differ in nothing else share a
// program.
struct Recipe {
  struct Input {
    Port port;
    TensorType type;
  };
  // Where the value of a step's input comes from: `inputs` by index, or from an earlier step.
  struct Source {
    bool computed = false;
    size_t index = 0;
  };
  struct Step {
    const Fusible* stage = nullptr;
    std::vector<Source> inputs;
  };
  std::vector<Input> inputs;
  std::vector<Step> steps;
  std::vector<size_t> outputs;  // steps whose values are stored, as output(0) and on
};

// The launch, whose inputs and outputs are those of the recipe. `options` are build options that
// suit every body.
Launch fused_launch(const Recipe& recipe, const std::string& options, Planner& planner);

}  // namespace dala::plan
