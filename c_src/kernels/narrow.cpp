#include "kernels/narrow.hpp"

#include <algorithm>

#include "kernels/element.hpp"
#include "kernels/elementwise/cast.hpp"

namespace dala {
namespace {

TensorType widened(TensorType type) {
  if (is_narrow_float(type.dtype)) type.dtype = DType::f32;
  return type;
}

bool has_narrow_floats(const Call& call) {
  return is_narrow_float(call.output.dtype) ||
         std::any_of(call.inputs.begin(), call.inputs.end(),
                     [](const TensorType& type) { return is_narrow_float(type.dtype); });
}

// Appends the conversion of one tensor into another of the same shape.
void add_cast(Launch& launch, Planner& planner, const TensorType& from, const TensorType& to,
              Operand source, Operand target) {
  Launch cast = with_operands(cast_launch(Call{{from}, to, {}}, planner), [&](Operand operand) {
    return operand.kind == Operand::Kind::input ? source : target;
  });
  for (Step& step : cast.steps) launch.steps.push_back(std::move(step));
  launch.work += cast.work;
}

Launch plan_as_floats(const std::function<Launch(const Call&, Planner&)>& plan, const Call& call,
                      Planner& planner) {
  Call wide = call;
  for (TensorType& type : wide.inputs) type = widened(type);
  wide.output = widened(wide.output);
  Launch inner = plan(wide, planner);
  // Every input has been read before the output, or the scratch area in its place, is written.
  inner.in_place = true;
  if (inner.steps.empty()) return inner;

  Launch launch = inner;
  launch.steps.clear();
  std::vector<Operand> inputs;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    Operand operand = input(static_cast<int>(i));
    if (is_narrow_float(call.inputs[i].dtype) && call.inputs[i].count() > 0) {
      const Operand area = scratch(static_cast<int>(launch.scratch.size()));
      launch.scratch.push_back(wide.inputs[i].bytes());
      add_cast(launch, planner, call.inputs[i], wide.inputs[i], operand, area);
      operand = area;
    }
    inputs.push_back(operand);
  }
  Operand result = output();
  if (is_narrow_float(call.output.dtype)) {
    result = scratch(static_cast<int>(launch.scratch.size()));
    launch.scratch.push_back(wide.output.bytes());
  }
  inner = with_operands(std::move(inner), [&](Operand operand) {
    if (operand.kind == Operand::Kind::input) return inputs[static_cast<size_t>(operand.index)];
    return operand.kind == Operand::Kind::output ? result : operand;
  });
  for (Step& step : inner.steps) launch.steps.push_back(std::move(step));
  if (result.kind == Operand::Kind::scratch) {
    add_cast(launch, planner, wide.output, call.output, result, output());
  }
  return launch;
}

}  // namespace

Launch with_operands(Launch launch, const std::function<Operand(Operand)>& replace) {
  for (Step& step : launch.steps) {
    if (auto* kernel = std::get_if<KernelStep>(&step)) {
      for (Argument& argument : kernel->arguments) {
        if (auto* operand = std::get_if<Operand>(&argument)) *operand = replace(*operand);
      }
    } else if (auto* copy = std::get_if<CopyStep>(&step)) {
      copy->from = replace(copy->from);
      copy->to = replace(copy->to);
    } else if (auto* fill = std::get_if<FillStep>(&step)) {
      fill->to = replace(fill->to);
    } else if (auto* host = std::get_if<HostCopyStep>(&step)) {
      host->device = replace(host->device);
    } else if (auto* call = std::get_if<CallStep>(&step)) {
      call->call = [inner = call->call, replace](cl_command_queue queue,
                                                 const std::function<cl_mem(Operand)>& memory) {
        inner(queue, [&](Operand operand) { return memory(replace(operand)); });
      };
    }
  }
  return launch;
}

Descriptor with_narrow_floats(Descriptor descriptor) {
  descriptor.dtypes.insert(descriptor.dtypes.end(), {DType::f16, DType::bf16});
  descriptor.plan = [plan = descriptor.plan](const Call& call, Planner& planner) {
    return has_narrow_floats(call) ? plan_as_floats(plan, call, planner) : plan(call, planner);
  };
  return descriptor;
}

}  // namespace dala
