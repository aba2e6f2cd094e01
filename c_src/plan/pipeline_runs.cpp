// Execution of a pipeline's plan: many runs in one command, calls with ports, changed parameters.
#include <algorithm>
#include <utility>

#include "plan/fusion.hpp"
#include "plan/pipeline_plan.hpp"
#include "runtime/error.hpp"

namespace dala::plan {
namespace {

// The work of a round, in the unit of Launch::work: a few milliseconds, so that other clients get
// their turns and the command can be cancelled soon.
constexpr double kRoundWork = 16e6;

// Whether two launches use their memory in the same way.
bool alike(const Launch& one, const Launch& other) {
  return one.in_place == other.in_place && one.overwrites_output == other.overwrites_output &&
         one.steps.empty() == other.steps.empty();
}

size_t param_bytes(const Body& body) {
  size_t bytes = 0;
  for (const BodyParam& param : body.params) bytes += param.value.bytes.size();
  return bytes;
}

// Whether one body can replace the other in any fused kernel.
bool alike(const std::optional<Fusible>& one, const std::optional<Fusible>& other) {
  if (!one || !other) return one.has_value() == other.has_value();
  return one->body.loop == other->body.loop && one->body.inputs == other->body.inputs &&
         one->body.output == other->body.output && one->body.options == other->body.options &&
         param_bytes(one->body) == param_bytes(other->body);
}

uint64_t runs_per_round(const Plan& plan, uint64_t times, bool swaps) {
  double work = 1;
  for (const Node& node : plan.nodes()) work += node.launch == nullptr ? 0 : node.launch->work;
  const auto by_work = static_cast<uint64_t>(std::max(1.0, kRoundWork / work));
  const uint64_t by_stages = Scheduler::kLengthy / std::max<size_t>(1, plan.nodes().size());
  uint64_t runs = std::max<uint64_t>(1, std::min(by_work, by_stages));
  // A round starts with every buffer in its original memory.
  if (swaps) runs = std::max<uint64_t>(2, runs / 2 * 2);
  return std::min(runs, times);
}

void check_input(const Buffer& port, const Buffer& given, size_t index) {
  if (given.temporary()) throw temporary_error(text("input ", index));
  if (port.type() == given.type()) return;
  throw Error(Reason::shape_mismatch, text("input ", index, " is ", to_string(given.type()),
                                           ", expected ", to_string(port.type())));
}

}  // namespace

std::optional<PipelinePlan> PipelinePlan::with(
    Engine& engine, const std::map<size_t, PlannedStage>& changed) const {
  PipelinePlan result = *this;
  std::map<size_t, bool> steps;  // with a new launch
  for (const auto& [index, stage] : changed) {
    Node& node = result.stages_[index];
    if (!node.parts.empty() || !stage.node.parts.empty()) return std::nullopt;
    if (!alike(*node.launch, *stage.node.launch)) return std::nullopt;
    if (!alike(node.fusible, stage.node.fusible)) return std::nullopt;
    node.launch = stage.node.launch;
    node.fusible = stage.node.fusible;
    steps[step_of_[index]] = true;
  }
  for (const auto& [step, changes] : steps) {
    const Origin& origin = origins_[step];
    if (origin.node == kNone) continue;  // dead: no stage reads its results
    const Node node =
        fused_again(result.stages_, steps_[step].stages, origin.options, engine.planner());
    result.plan_.replace_launch(origin.node, node.launch);
  }
  return result;
}

void PipelinePlan::check_swaps(const Plan::Swaps& swaps) const {
  std::vector<const Buffer*> seen;
  const auto check = [&](const BufferPtr& buffer) {
    const auto is_it = [&](const Use& use) { return use.buffer == buffer; };
    if (buffer->temporary()) {
      throw Error(Reason::invalid_param,
                  "a temporary buffer cannot be swapped: a run that reads "
                  "it has written to it before");
    }
    if (std::none_of(uses_.begin(), uses_.end(), is_it)) {
      throw Error(Reason::invalid_param, "a buffer to swap is used by no stage of the pipeline");
    }
    if (std::find(seen.begin(), seen.end(), buffer.get()) != seen.end()) {
      throw Error(Reason::invalid_param, "a buffer can be swapped with one other buffer");
    }
    seen.push_back(buffer.get());
  };
  for (const auto& [one, other] : swaps) {
    check(one);
    check(other);
    if (one->type() == other->type()) continue;
    throw Error(
        one->type().dtype != other->type().dtype ? Reason::dtype_mismatch : Reason::shape_mismatch,
        text("buffers to swap have one type, got ", to_string(one->type()), " and ",
             to_string(other->type())));
  }
}

void PipelinePlan::require_no_ports() const {
  if (ports_.inputs.empty() && ports_.outputs.empty()) return;
  throw Error(Reason::invalid_param,
              text("the pipeline has ", ports_.inputs.size(), " inputs and ", ports_.outputs.size(),
                   " outputs, so it can be called but not run"));
}

std::vector<Stage> PipelinePlan::bind(Runtime& runtime) const {
  require_no_ports();
  return plan_.bind(runtime, {}, {}, Plan::Memory::fresh);
}

PipelinePlan::Runs PipelinePlan::bind(Runtime& runtime, uint64_t times,
                                      const Plan::Swaps& swaps) const {
  require_no_ports();
  if (times == 0) throw Error(Reason::invalid_param, "a pipeline runs at least once, got 0 times");
  check_swaps(swaps);
  const uint64_t runs = runs_per_round(plan_, times, !swaps.empty());
  Runs result;
  result.repetition.rounds = times / runs;
  result.stages = plan_.bind_runs(runtime, runs, swaps, times > runs);
  result.repetition.rest = times % runs * (result.stages.size() / runs);
  // The results of the last run must be in the buffers that its stages name; after an odd number of
  // swaps the buffers of each pair exchange their memory.
  if (times % 2 == 0) result.repetition.exchanged = swaps;
  return result;
}

PipelinePlan::Called PipelinePlan::call(Runtime& runtime,
                                        const std::vector<BufferPtr>& inputs) const {
  if (ports_.inputs.size() != inputs.size()) {
    throw Error(Reason::arity_mismatch,
                text("the pipeline has ", ports_.inputs.size(), " inputs, got ", inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) check_input(*ports_.inputs[i], *inputs[i], i);
  Called called;
  std::unordered_map<const Buffer*, BufferPtr> given;
  for (size_t i = 0; i < inputs.size(); ++i) given.emplace(ports_.inputs[i].get(), inputs[i]);
  for (const BufferPtr& port : ports_.outputs) {
    StoragePtr storage = runtime.memory().allocate(port->type().bytes());
    called.outputs.push_back(std::make_shared<Buffer>(port->type(), std::move(storage)));
    given.emplace(port.get(), called.outputs.back());
  }
  called.stages = plan_.bind(runtime, inputs, called.outputs, Plan::Memory::fresh);
  called.uses = uses_;
  for (Use& use : called.uses) {
    if (const auto found = given.find(use.buffer.get()); found != given.end()) {
      use.buffer = found->second;
    }
  }
  return called;
}

}  // namespace dala::plan
