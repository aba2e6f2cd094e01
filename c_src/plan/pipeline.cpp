#include "plan/pipeline.hpp"

#include <utility>

namespace dala::plan {
namespace {

// Says which stage of a pipeline the problem is in, unless it says so already.
Error in_stage(Error problem, int64_t stage) {
  for (const auto& [key, detail] : problem.details) {
    if (key == "stage") stage = std::get<int64_t>(detail);
  }
  std::erase_if(problem.details, [](const auto& entry) { return entry.first == "stage"; });
  problem.details.emplace_back("stage", stage);
  problem.message = text("stage ", stage, ": ", problem.message);
  return problem;
}

// None where the expansion allows too little.
std::optional<PlannedStage> planned_stage(StageBuilder& builder, const Pipeline::Added& added,
                                          Expansion expansion) {
  if (const auto* problem = std::get_if<Error>(&added)) throw *problem;
  if (const auto* copy = std::get_if<Pipeline::Copy>(&added)) {
    return builder.copy(copy->from, copy->to);
  }
  if (const auto* kernel = std::get_if<Pipeline::Kernel>(&added)) {
    return builder.kernel(kernel->name, kernel->inputs, kernel->output, kernel->params, expansion);
  }
  return PlannedStage{};
}

Pipeline::PlanPtr plan_stages(Engine& engine,
                              const std::vector<std::shared_ptr<const Pipeline::Added>>& added,
                              Expansion expansion) {
  StageBuilder builder(engine);
  std::vector<PlannedStage> stages;
  stages.reserve(added.size());
  for (const auto& each : added) {
    try {
      auto stage = planned_stage(builder, *each, expansion);
      if (!stage) return nullptr;
      stages.push_back(std::move(*stage));
    } catch (const Error& problem) {
      throw in_stage(problem, static_cast<int64_t>(stages.size()));
    }
  }
  try {
    return std::make_shared<const PipelinePlan>(engine, stages, engine.runtime().config().fusion);
  } catch (const Error& problem) {
    throw in_stage(problem, 0);
  }
}

}  // namespace

void Pipeline::require_alive() const {
  if (freed_) throw Error(Reason::freed, "the pipeline has been freed");
}

void Pipeline::add(Added stage) {
  auto kept = std::make_shared<const Added>(std::move(stage));
  const std::lock_guard lock(mutex_);
  require_alive();
  stages_.push_back(std::move(kept));
  ++version_;
  planned_.reset();
}

size_t Pipeline::count() {
  const std::lock_guard lock(mutex_);
  require_alive();
  return stages_.size();
}

// With the lock held.
Pipeline::PlanPtr Pipeline::known_plan(Engine& engine) const {
  require_alive();
  if (planned_ == nullptr || planned_->version != version_) return nullptr;
  if (planned_->generation != engine.registry().generation()) return nullptr;
  if (planned_->problem) throw *planned_->problem;
  return planned_->plan;
}

// Plans without the lock, so that nobody waits for it. Should the stages change meanwhile, this
// plan is for those of the call.
Pipeline::PlanPtr Pipeline::plan(Engine& engine, Expansion expansion) {
  Stages stages;
  auto planned = std::make_shared<Planned>();
  {
    const std::lock_guard lock(mutex_);
    if (PlanPtr known = known_plan(engine)) return known;
    if (expansion == Expansion::at_once && stages_.size() > kManyStages) return nullptr;
    stages = stages_;
    planned->version = version_;
  }
  planned->generation = engine.registry().generation();
  try {
    planned->plan = plan_stages(engine, stages, expansion);
    if (planned->plan == nullptr) return nullptr;
  } catch (const Error& problem) {
    // There may be memory the next time.
    if (problem.reason == Reason::out_of_memory) throw;
    planned->problem = problem;
  }
  {
    const std::lock_guard lock(mutex_);
    require_alive();
    if (planned->version == version_) planned_ = planned;
  }
  if (planned->problem) throw *planned->problem;
  return planned->plan;
}

Pipeline::Rest Pipeline::free() {
  const std::lock_guard lock(mutex_);
  freed_ = true;
  Rest rest{std::move(stages_), std::move(planned_)};
  stages_.clear();
  planned_.reset();
  return rest;
}

Error Pipeline::submission_error(const Error& problem) {
  return problem.reason == Reason::freed ? in_stage(problem, 0) : problem;
}

}  // namespace dala::plan
