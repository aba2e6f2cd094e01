// Several runs of a plan as the stages of one command.
#include <algorithm>
#include <utility>

#include "plan/plan.hpp"

namespace dala::plan {
namespace {

Stage copy_of(const BufferPtr& from, const BufferPtr& to) {
  const size_t bytes = to->type().bytes();
  Launch launch;
  launch.steps.push_back(CopyStep{input(0), output(), bytes});
  launch.name = "copy_buffer";
  launch.bytes = 2.0 * static_cast<double>(bytes);
  launch.work = launch.bytes;
  return Stage{std::make_shared<const Launch>(std::move(launch)), {from}, to};
}

}  // namespace

// Copies of inputs to which launches write that do not work in place: the scheduler would allocate
// fresh memory for each such output in every run. By node and input, null for other inputs.
Plan::InputCopies Plan::copied_inputs(Runtime& runtime) const {
  InputCopies copies(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    copies[i].resize(node.inputs.size());
    if (node.launch == nullptr || node.launch->steps.empty() || node.launch->in_place) continue;
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const ValuePtr& input = node.inputs[k];
      const auto& outputs = node.outputs;
      if (std::find(outputs.begin(), outputs.end(), input) == outputs.end()) continue;
      if (input->bytes() == 0) continue;
      copies[i][k] =
          std::make_shared<Buffer>(input->type, runtime.memory().allocate(input->bytes()));
    }
  }
  return copies;
}

std::vector<Stage> Plan::bind_runs(Runtime& runtime, size_t runs, const Swaps& swaps,
                                   bool repeatable) const {
  const StoragePtr host = host_bytes_ == 0 ? nullptr : runtime.memory().allocate(host_bytes_);
  InputCopies copies;
  if (repeatable) copies = copied_inputs(runtime);
  std::vector<BufferPtr> straight = memory_of_values(runtime, {}, {}, Memory::fresh, host);
  std::vector<BufferPtr> swapped = straight;
  for (BufferPtr& buffer : swapped) {
    for (const auto& [one, other] : swaps) {
      if (buffer == one || buffer == other) {
        buffer = buffer == one ? other : one;
        break;
      }
    }
  }
  std::vector<Stage> stages;
  stages.reserve(runs * nodes_.size());
  for (size_t run = 0; run < runs; ++run) {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      Stage stage = stage_of(i, run % 2 == 0 ? straight : swapped);
      for (size_t k = 0; repeatable && k < stage.inputs.size(); ++k) {
        if (copies[i][k] == nullptr) continue;
        stages.push_back(copy_of(stage.inputs[k], copies[i][k]));
        stage.inputs[k] = copies[i][k];
      }
      stages.push_back(std::move(stage));
    }
  }
  return stages;
}

}  // namespace dala::plan
