#include "plan/pipeline_plan.hpp"

#include <unordered_set>
#include <utility>

#include "kernels/elementwise/pointwise.hpp"
#include "plan/fusion.hpp"
#include "runtime/error.hpp"

namespace dala::plan {
namespace {

[[noreturn]] void read_too_early(size_t stage, size_t input) {
  throw Error(Reason::invalid_param,
              text("input ", input, " is temporary, and no stage before this one writes to it"),
              {{"stage", static_cast<int64_t>(stage)}});
}

// If the first launch that writes a temporary may leave elements unwritten, the temporary is zeroed
// first, so that old memory content is never visible.
Node zeros_first(const ValuePtr& value) {
  Launch launch;
  const size_t bytes = value->bytes();
  if (bytes > 0) launch.steps.push_back(FillStep{output(), dala::value(uint8_t{0}), bytes});
  launch.name = "fill";
  launch.bytes = static_cast<double>(bytes);
  launch.work = launch.bytes;
  return Node{std::make_shared<const Launch>(std::move(launch)), {}, {value}};
}

// How the stages use buffers, in the caller's order.
struct Usage {
  std::vector<Use> uses;  // the first use of each buffer
  // By stage: the outputs that are fresh temporaries of which elements may stay unwritten.
  std::map<size_t, std::vector<size_t>> unwritten;
};

Usage usage_of(const std::vector<PlannedStage>& stages, const Ports& ports) {
  Usage usage;
  // Inputs have their content before the call.
  std::unordered_set<BufferPtr> written(ports.inputs.begin(), ports.inputs.end());
  std::unordered_set<BufferPtr> seen;
  const auto use = [&](const BufferPtr& buffer, size_t stage, int input) {
    if (!seen.insert(buffer).second) return;
    usage.uses.push_back({buffer, static_cast<int64_t>(stage), input});
  };
  for (size_t i = 0; i < stages.size(); ++i) {
    const PlannedStage& stage = stages[i];
    if (stage.node.launch == nullptr) continue;
    for (size_t n = 0; n < stage.inputs.size(); ++n) {
      const BufferPtr& buffer = stage.inputs[n];
      if (buffer->temporary() && written.count(buffer) == 0) read_too_early(i, n);
      use(buffer, i, static_cast<int>(n));
    }
    for (size_t n = 0; n < stage.outputs.size(); ++n) {
      const BufferPtr& buffer = stage.outputs[n];
      use(buffer, i, -1);
      const bool first = written.insert(buffer).second;
      const bool partly = first && buffer->temporary() && !stage.node.overwrites();
      if (partly) usage.unwritten[i].push_back(n);
    }
  }
  for (const BufferPtr& output : ports.outputs) {
    if (written.count(output) == 0) {
      throw Error(Reason::invalid_param, "an output of the pipeline is written by no stage");
    }
  }
  return usage;
}

std::vector<Node> nodes_in(const std::vector<PlannedStage>& stages) {
  std::vector<Node> nodes;
  nodes.reserve(stages.size());
  for (const PlannedStage& stage : stages) nodes.push_back(stage.node);
  return nodes;
}

}  // namespace

StageBuilder::StageBuilder(Engine& engine, const Ports& ports) : engine_(engine) {
  const auto number = [&](const std::vector<BufferPtr>& buffers, int Value::*side) {
    for (size_t i = 0; i < buffers.size(); ++i) {
      auto value = std::make_shared<Value>();
      value->type = buffers[i]->type();
      (*value).*side = static_cast<int>(i);
      values_.emplace(buffers[i], std::move(value));
    }
  };
  number(ports.inputs, &Value::input);
  number(ports.outputs, &Value::output);
}

ValuePtr StageBuilder::value_of(const BufferPtr& buffer) {
  ValuePtr& value = values_[buffer];
  if (value == nullptr) {
    value = std::make_shared<Value>();
    value->type = buffer->type();
    if (!buffer->temporary()) value->buffer = buffer;
  }
  return value;
}

Node StageBuilder::node_of(const Stage& stage) {
  Node node{stage.launch, {}, {}};
  for (const BufferPtr& buffer : stage.inputs) node.inputs.push_back(value_of(buffer));
  if (stage.output != nullptr) node.outputs.push_back(value_of(stage.output));
  for (const BufferPtr& buffer : stage.more_outputs) node.outputs.push_back(value_of(buffer));
  return node;
}

PlannedStage StageBuilder::planned(Stage stage) {
  Node node = node_of(stage);
  std::vector<BufferPtr> outputs{std::move(stage.output)};
  for (BufferPtr& each : stage.more_outputs) outputs.push_back(std::move(each));
  return {std::move(node), std::move(stage.inputs), std::move(outputs)};
}

std::optional<PlannedStage> StageBuilder::kernel(const std::string& name,
                                                 const std::vector<BufferPtr>& inputs,
                                                 const BufferPtr& output, const Params& params,
                                                 Expansion expansion,
                                                 const std::vector<BufferPtr>& more_outputs) {
  const Engine::Checked checked = engine_.check(name, inputs, output, params, more_outputs);
  const Descriptor& descriptor = *checked.descriptor;
  if (descriptor.expand) {
    const auto parts = descriptor.expand(checked.call, inputs, output, expansion);
    if (!parts) return std::nullopt;
    Launch launch;
    launch.name = descriptor.name;
    launch.bytes = bytes_of(checked.call);
    PlannedStage result =
        planned({std::make_shared<const Launch>(std::move(launch)), inputs, output});
    for (const Stage& part : *parts) result.node.parts.push_back(node_of(part));
    return result;
  }
  PlannedStage result = planned({engine_.launch(checked), inputs, output, more_outputs});
  // A launch without steps needs no fusion.
  if (descriptor.body && !result.node.launch->steps.empty()) {
    result.node.fusible = Fusible{descriptor.body(checked.call, engine_.planner()),
                                  checked.call.inputs, checked.call.output};
  }
  return result;
}

PlannedStage StageBuilder::copy(const BufferPtr& from, const BufferPtr& to) {
  PlannedStage result = planned(engine_.copy_stage(from, to));
  const Call call{{from->type()}, to->type(), {}};
  const bool arithmetic = to->type().dtype != DType::f64 || engine_.planner().fp64();
  if (arithmetic && !result.node.launch->steps.empty()) {
    result.node.fusible =
        Fusible{op_body({"identity", 1, 0}, to->type().dtype, call, {}), call.inputs, call.output};
  }
  return result;
}

PipelinePlan::PipelinePlan(Engine& engine, const std::vector<PlannedStage>& stages, bool fuse,
                           Ports ports)
    : ports_(std::move(ports)),
      plan_(engine.runtime(), nodes_of(engine, stages, fuse), {}, Plan::Memory::fresh) {}

std::vector<Node> PipelinePlan::nodes_of(Engine& engine, const std::vector<PlannedStage>& stages,
                                         bool fuse) {
  Usage usage = usage_of(stages, ports_);
  uses_ = std::move(usage.uses);
  stages_ = nodes_in(stages);
  step_of_.resize(stages.size());
  std::vector<Node> nodes;
  for (Fused& each : fused(stages_, engine.planner(), fuse)) {
    Node& node = each.node;
    Step step;
    for (size_t index : each.members) {
      step_of_[index] = steps_.size();
      const auto& launch = stages[index].node.launch;
      if (launch == nullptr) continue;
      step.kernels.push_back(launch->name);
      step.unfused_bytes += launch->bytes;
    }
    if (node.launch != nullptr) step.bytes = node.launch->bytes;
    for (const ValuePtr& value : node.outputs) step.outputs.push_back(value->type);
    const bool barrier = step.kernels.empty();
    if (const auto partly = usage.unwritten.find(each.members.front());
        each.members.size() == 1 && partly != usage.unwritten.end()) {
      for (size_t output : partly->second) nodes.push_back(zeros_first(node.outputs[output]));
    }
    step.stages = std::move(each.members);
    steps_.push_back(std::move(step));
    Origin origin{kNone, std::move(each.options)};
    if (!node.parts.empty()) {
      for (Node& part : node.parts) nodes.push_back(std::move(part));
    } else if (barrier || node.launch != nullptr) {
      if (!barrier) origin.node = nodes.size();
      nodes.push_back(std::move(node));
    }
    origins_.push_back(std::move(origin));
  }
  return nodes;
}

}  // namespace dala::plan
