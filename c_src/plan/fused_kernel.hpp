// A generated kernel for several nodes: its source, arguments and launch.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/fusion/body.hpp"

namespace dala::plan {

// The work of the kernel at each position, in order: loads, steps, stores. All steps have the same
// loop and the same positions. Parameters are arguments, so recipes that differ only in them share
// a program.
struct Recipe {
  struct Input {
    Port port;
    TensorType type;
  };
  // The source of a step's input: `inputs` by index, or an earlier step.
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
  std::vector<size_t> outputs;  // steps whose values are stored, in the order of the outputs
};

// The launch, with the inputs and outputs of the recipe. `options` are build options that suit
// every body.
Launch fused_launch(const Recipe& recipe, const std::string& options, Planner& planner);

}  // namespace dala::plan
