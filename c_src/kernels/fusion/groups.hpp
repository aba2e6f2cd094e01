// Which stages of a pipeline run together in one kernel.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "kernels/fusion/body.hpp"
#include "runtime/command.hpp"

namespace dala {

// A stage of a pipeline as it was asked for.
struct PlannedStage {
  Stage stage;                     // as it runs by itself; a barrier has no launch
  std::optional<Fusible> fusible;  // set: it may share a kernel with others
  // Set: what runs in place of `stage`, which then only says what is read and written. Together
  // they write all of the output.
  std::vector<Stage> parts = {};
};

struct Group {
  std::vector<size_t> stages;  // in order
  std::string options;         // build options that suit every body
};

// All stages in groups, in an order in which they can run: a group of several is one of stages
// that follow each other, or have only stages between them that touch none of their buffers. They
// have the same loop and the same places, and are connected by buffers.
std::vector<Group> group_stages(const std::vector<PlannedStage>& stages);

}  // namespace dala
