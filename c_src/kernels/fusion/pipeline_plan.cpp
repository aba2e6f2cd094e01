#include "kernels/fusion/pipeline_plan.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "kernels/fusion/fused_kernel.hpp"
#include "runtime/error.hpp"

namespace dala {
namespace {

using Stages = std::vector<PlannedStage>;

bool reads(const Stage& stage, const BufferPtr& buffer) {
  return std::find(stage.inputs.begin(), stage.inputs.end(), buffer) != stage.inputs.end();
}

bool overwrites(const PlannedStage& planned) {
  const Launch& launch = *planned.stage.launch;
  return !planned.parts.empty() || (launch.overwrites_output && !launch.steps.empty());
}

// Whether anybody can see what stage `last`, the last of its group to write this buffer, left
// there: a later stage of another group, or whoever looks when the pipeline has run.
bool visible(const Stages& stages, const std::vector<size_t>& group, size_t last) {
  const BufferPtr& buffer = stages[last].stage.output;
  for (size_t i = last + 1; i < stages.size(); ++i) {
    const Stage& stage = stages[i].stage;
    if (stage.launch == nullptr || std::binary_search(group.begin(), group.end(), i)) continue;
    if (reads(stage, buffer)) return true;
    if (stage.output == buffer) return !overwrites(stages[i]);
  }
  return !buffer->temporary();
}

// A recipe together with the buffers it is for.
struct Mixture {
  Recipe recipe;
  std::vector<BufferPtr> inputs;
  std::vector<BufferPtr> outputs;
};

// Steps whose values no output depends on are left out.
Mixture without_waste(const Mixture& full) {
  const Recipe& recipe = full.recipe;
  std::vector<bool> used(recipe.steps.size(), false);
  for (size_t output : recipe.outputs) used[output] = true;
  for (size_t k = recipe.steps.size(); k-- > 0;) {
    for (const Recipe::Source& source : recipe.steps[k].inputs) {
      if (used[k] && source.computed) used[source.index] = true;
    }
  }
  Mixture result;
  result.outputs = full.outputs;
  std::map<size_t, size_t> steps;
  std::map<size_t, size_t> inputs;
  for (size_t k = 0; k < recipe.steps.size(); ++k) {
    if (!used[k]) continue;
    Recipe::Step step = recipe.steps[k];
    for (Recipe::Source& source : step.inputs) {
      if (source.computed) {
        source.index = steps.at(source.index);
        continue;
      }
      const auto [place, is_new] = inputs.emplace(source.index, result.inputs.size());
      if (is_new) {
        result.recipe.inputs.push_back(recipe.inputs[source.index]);
        result.inputs.push_back(full.inputs[source.index]);
      }
      source.index = place->second;
    }
    steps[k] = result.recipe.steps.size();
    result.recipe.steps.push_back(std::move(step));
  }
  for (size_t output : recipe.outputs) result.recipe.outputs.push_back(steps.at(output));
  return result;
}

Mixture mix(const Stages& stages, const std::vector<size_t>& group) {
  Mixture mixture;
  Recipe& recipe = mixture.recipe;
  std::map<BufferPtr, size_t> computed;  // the step that has a buffer's current value
  for (size_t index : group) {
    const Stage& stage = stages[index].stage;
    const Fusible& fusible = *stages[index].fusible;
    Recipe::Step step{&fusible, {}};
    for (size_t i = 0; i < stage.inputs.size(); ++i) {
      if (const auto found = computed.find(stage.inputs[i]); found != computed.end()) {
        step.inputs.push_back({true, found->second});
        continue;
      }
      const Port& port = fusible.body.inputs[i];
      size_t known = 0;
      while (known < mixture.inputs.size() &&
             (mixture.inputs[known] != stage.inputs[i] || recipe.inputs[known].port != port)) {
        ++known;
      }
      if (known == mixture.inputs.size()) {
        recipe.inputs.push_back({port, fusible.inputs[i]});
        mixture.inputs.push_back(stage.inputs[i]);
      }
      step.inputs.push_back({false, known});
    }
    computed[stage.output] = recipe.steps.size();
    recipe.steps.push_back(std::move(step));
  }
  for (size_t k = 0; k < group.size(); ++k) {
    const BufferPtr& buffer = stages[group[k]].stage.output;
    if (computed.at(buffer) != k || !visible(stages, group, group[k])) continue;
    recipe.outputs.push_back(k);
    mixture.outputs.push_back(buffer);
  }
  return without_waste(mixture);
}

// "scalar_mul+relu", or "scalar_mul+relu+8 more"
std::string fused_name(const std::vector<std::string>& kernels) {
  constexpr size_t kMost = 4;
  const size_t shown = kernels.size() > kMost ? 2 : kernels.size();
  std::string name;
  for (size_t i = 0; i < shown; ++i) name += (i == 0 ? "" : "+") + kernels[i];
  if (shown < kernels.size()) name += text("+", kernels.size() - shown, " more");
  return name;
}

[[noreturn]] void read_too_early(size_t stage, size_t input) {
  throw Error(Reason::invalid_param,
              text("input ", input, " is temporary, and no stage before this one writes to it"),
              {{"stage", static_cast<int64_t>(stage)}});
}

// Where a launch is the first to write to a temporary buffer and may leave elements out, zeros come
// first: nobody is to see what the memory held before.
Stage zeros_first(const BufferPtr& buffer) {
  auto launch = std::make_shared<Launch>();
  const size_t bytes = buffer->type().bytes();
  if (bytes > 0) launch->steps.push_back(FillStep{output(), value(uint8_t{0}), bytes});
  launch->name = "fill";
  launch->bytes = static_cast<double>(bytes);
  launch->work = launch->bytes;
  return {std::move(launch), {}, buffer};
}

// Puts one buffer under temporary ones of the same size whose times do not meet.
void share_memory(PipelinePlan& plan) {
  std::map<BufferPtr, size_t> last_use;
  const auto each_temporary = [](Stage& stage, const auto& visit) {
    const auto look = [&](BufferPtr& buffer) {
      if (buffer != nullptr && buffer->temporary()) visit(buffer);
    };
    for (BufferPtr& buffer : stage.inputs) look(buffer);
    look(stage.output);
    for (BufferPtr& buffer : stage.more_outputs) look(buffer);
  };
  for (size_t i = 0; i < plan.stages.size(); ++i) {
    each_temporary(plan.stages[i], [&](BufferPtr& buffer) { last_use[buffer] = i; });
  }
  std::map<BufferPtr, BufferPtr> standing;
  std::multimap<size_t, BufferPtr> spare;
  for (size_t i = 0; i < plan.stages.size(); ++i) {
    std::set<BufferPtr> ending;
    each_temporary(plan.stages[i], [&](BufferPtr& buffer) {
      const BufferPtr asked = buffer;
      if (last_use.at(asked) == i) ending.insert(asked);
      BufferPtr& place = standing[asked];
      if (place == nullptr) {
        const size_t bytes = asked->type().bytes();
        const auto found = spare.find(bytes);
        if (found != spare.end()) {
          place = found->second;
          spare.erase(found);
        } else {
          place = std::make_shared<Buffer>(asked->type());
          plan.temporary_bytes += bytes;
        }
      }
      buffer = place;
    });
    for (const BufferPtr& buffer : ending) {
      spare.emplace(buffer->type().bytes(), standing.at(buffer));
    }
  }
}

class Plan {
 public:
  Plan(const Stages& stages, Planner& planner) : stages_(stages), planner_(planner) {}

  PipelinePlan make(bool fuse) {
    look_through();
    std::vector<Group> groups;
    if (fuse) groups = group_stages(stages_);
    for (size_t i = 0; !fuse && i < stages_.size(); ++i) groups.push_back({{i}, ""});
    for (const Group& group : groups) {
      if (group.stages.size() > 1) {
        add_fused(group);
      } else {
        add_single(group.stages.front());
      }
    }
    share_memory(plan_);
    return std::move(plan_);
  }

 private:
  // The order in which buffers are written and read, as the caller sees it.
  void look_through() {
    std::set<BufferPtr> written;
    std::set<BufferPtr> seen;
    const auto use = [&](const BufferPtr& buffer, size_t stage, int input) {
      if (seen.insert(buffer).second)
        plan_.uses.push_back({buffer, static_cast<int64_t>(stage), input});
    };
    for (size_t i = 0; i < stages_.size(); ++i) {
      const Stage& stage = stages_[i].stage;
      if (stage.launch == nullptr) continue;
      for (size_t n = 0; n < stage.inputs.size(); ++n) {
        const BufferPtr& buffer = stage.inputs[n];
        if (buffer->temporary() && written.count(buffer) == 0) read_too_early(i, n);
        use(buffer, i, static_cast<int>(n));
      }
      use(stage.output, i, -1);
      const bool first = written.insert(stage.output).second;
      if (first && stage.output->temporary() && !overwrites(stages_[i])) unwritten_.insert(i);
    }
  }

  void add_single(size_t index) {
    const Stage& stage = stages_[index].stage;
    PipelinePlan::Step step{{index}, {}, {}, 0, 0};
    if (stage.launch != nullptr) {
      if (unwritten_.count(index) != 0) plan_.stages.push_back(zeros_first(stage.output));
      step.kernels.push_back(stage.launch->name);
      step.outputs.push_back(stage.output->type());
      step.bytes = step.unfused_bytes = stage.launch->bytes;
    }
    const std::vector<Stage>& parts = stages_[index].parts;
    if (parts.empty()) plan_.stages.push_back(stage);
    plan_.stages.insert(plan_.stages.end(), parts.begin(), parts.end());
    plan_.steps.push_back(std::move(step));
  }

  void add_fused(const Group& group) {
    const Mixture mixture = mix(stages_, group.stages);
    PipelinePlan::Step step{group.stages, {}, {}, 0, 0};
    for (size_t index : group.stages) {
      step.kernels.push_back(stages_[index].stage.launch->name);
      step.unfused_bytes += stages_[index].stage.launch->bytes;
    }
    // None when all of it went to temporary buffers that nobody reads.
    if (!mixture.outputs.empty()) {
      Launch launch = fused_launch(mixture.recipe, group.options, planner_);
      launch.name = fused_name(step.kernels);
      step.bytes = launch.bytes;
      for (const BufferPtr& buffer : mixture.outputs) step.outputs.push_back(buffer->type());
      plan_.stages.push_back({std::make_shared<const Launch>(std::move(launch)),
                              mixture.inputs,
                              mixture.outputs.front(),
                              {mixture.outputs.begin() + 1, mixture.outputs.end()}});
    }
    plan_.steps.push_back(std::move(step));
  }

  const Stages& stages_;
  Planner& planner_;
  std::set<size_t> unwritten_;  // stages that may leave elements of a fresh temporary buffer out
  PipelinePlan plan_;
};

}  // namespace

PipelinePlan plan_pipeline(const std::vector<PlannedStage>& stages, Planner& planner, bool fuse) {
  return Plan(stages, planner).make(fuse);
}

}  // namespace dala
