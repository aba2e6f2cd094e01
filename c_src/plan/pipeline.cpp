#include "plan/pipeline.hpp"

#include <map>
#include <utility>

namespace dala::plan {
namespace {

// Adds the stage of a pipeline to the error, unless it has one.
Error in_stage(Error problem, int64_t stage) {
  for (const auto& [key, detail] : problem.details) {
    if (key == "stage") stage = std::get<int64_t>(detail);
  }
  std::erase_if(problem.details, [](const auto& entry) { return entry.first == "stage"; });
  problem.details.emplace_back("stage", stage);
  problem.message = text("stage ", stage, ": ", problem.message);
  return problem;
}

// None if the expansion does not allow enough.
std::optional<PlannedStage> planned_stage(StageBuilder& builder, const Pipeline::Added& added,
                                          Expansion expansion) {
  if (const auto* problem = std::get_if<Error>(&added)) throw *problem;
  if (const auto* copy = std::get_if<Pipeline::Copy>(&added)) {
    return builder.copy(copy->from, copy->to);
  }
  if (const auto* kernel = std::get_if<Pipeline::Kernel>(&added)) {
    return builder.kernel(kernel->name, kernel->inputs, kernel->output, kernel->params, expansion,
                          kernel->more_outputs);
  }
  return PlannedStage{};
}

Pipeline::PlanPtr plan_stages(Engine& engine,
                              const std::vector<std::shared_ptr<const Pipeline::Added>>& added,
                              const Ports& ports, Expansion expansion) {
  StageBuilder builder(engine, ports);
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
    return std::make_shared<const PipelinePlan>(engine, stages, engine.runtime().config().fusion,
                                                ports);
  } catch (const Error& problem) {
    throw in_stage(problem, 0);
  }
}

// The plan with new launches for the changed stages; null if all stages have to be planned again.
Pipeline::PlanPtr plan_changes(Engine& engine, const PipelinePlan& plan,
                               const std::vector<std::shared_ptr<const Pipeline::Added>>& added,
                               const std::set<size_t>& changed) {
  StageBuilder builder(engine);
  std::map<size_t, PlannedStage> stages;
  for (size_t index : changed) {
    try {
      auto stage = planned_stage(builder, *added[index], Expansion::at_once);
      if (!stage) return nullptr;
      stages.emplace(index, std::move(*stage));
    } catch (const Error& problem) {
      throw in_stage(problem, static_cast<int64_t>(index));
    }
  }
  auto result = plan.with(engine, stages);
  return result ? std::make_shared<const PipelinePlan>(std::move(*result)) : nullptr;
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
  discard_plan();
}

void Pipeline::discard_plan() {
  ++version_;
  planned_.reset();
  changed_.clear();
}

void Pipeline::change(size_t index, Added stage) {
  auto kept = std::make_shared<const Added>(std::move(stage));
  const std::lock_guard lock(mutex_);
  require_alive();
  stages_.at(index).swap(kept);
  ++version_;
  changed_.insert(index);
}

void Pipeline::set_ports(Ports ports) {
  std::set<BufferPtr> seen;
  for (const auto* side : {&ports.inputs, &ports.outputs}) {
    for (const BufferPtr& port : *side) {
      if (!port->temporary()) throw Error(Reason::invalid_param, "a port has memory of its own");
      if (!seen.insert(port).second) throw Error(Reason::invalid_param, "a port is named twice");
    }
  }
  const std::lock_guard lock(mutex_);
  require_alive();
  ports_ = std::move(ports);
  discard_plan();
}

size_t Pipeline::count() {
  const std::lock_guard lock(mutex_);
  require_alive();
  return stages_.size();
}

// The lock is held.
Pipeline::PlanPtr Pipeline::known_plan(Engine& engine) const {
  require_alive();
  if (planned_ == nullptr || planned_->version != version_) return nullptr;
  if (planned_->generation != engine.registry().generation()) return nullptr;
  if (planned_->problem) throw *planned_->problem;
  return planned_->plan;
}

// Plans without the lock, so as not to block other callers. If the stages change meanwhile, the
// plan is that of the stages at the time of the call.
Pipeline::PlanPtr Pipeline::plan(Engine& engine, Expansion expansion) {
  Stages stages;
  Ports ports;
  std::shared_ptr<const Planned> base;  // differs only in the parameters of `changed`
  std::set<size_t> changed;
  auto planned = std::make_shared<Planned>();
  {
    const std::lock_guard lock(mutex_);
    if (PlanPtr known = known_plan(engine)) return known;
    if (expansion == Expansion::at_once && stages_.size() > kManyStages) return nullptr;
    stages = stages_;
    ports = ports_;
    base = planned_;
    changed = changed_;
    planned->version = version_;
  }
  planned->generation = engine.registry().generation();
  const bool usable =
      base != nullptr && base->plan != nullptr && base->generation == planned->generation;
  try {
    if (usable) planned->plan = plan_changes(engine, *base->plan, stages, changed);
    if (planned->plan == nullptr) planned->plan = plan_stages(engine, stages, ports, expansion);
    if (planned->plan == nullptr) return nullptr;
  } catch (const Error& problem) {
    // The next attempt may find memory.
    if (problem.reason == Reason::out_of_memory) throw;
    planned->problem = problem;
  }
  {
    const std::lock_guard lock(mutex_);
    require_alive();
    if (planned->version == version_) {
      planned_ = planned;
      changed_.clear();
    }
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
  ports_ = {};
  return rest;
}

Error Pipeline::submission_error(const Error& problem) {
  return problem.reason == Reason::freed ? in_stage(problem, 0) : problem;
}

}  // namespace dala::plan
