#include "kernels/engine.hpp"

#include <utility>

#include "kernels/elementwise/pointwise.hpp"

namespace dala {
namespace {

std::vector<TensorType> types_of(const std::vector<BufferPtr>& buffers) {
  std::vector<TensorType> types;
  types.reserve(buffers.size());
  for (const BufferPtr& buffer : buffers) types.push_back(buffer->type());
  return types;
}

}  // namespace

Engine::Engine(const Config& config)
    : runtime_(config),
      planner_(runtime_.device(), runtime_.programs(), runtime_.config().matmul) {}

Stage Engine::planned(const Descriptor& descriptor, const Call& call,
                      const std::vector<BufferPtr>& inputs, const BufferPtr& output) {
  Launch launch = descriptor.plan(call, planner_);
  launch.name = descriptor.name;
  launch.bytes = static_cast<double>(call.output.bytes());
  for (const TensorType& type : call.inputs) launch.bytes += static_cast<double>(type.bytes());
  return Stage{std::make_shared<const Launch>(std::move(launch)), inputs, output};
}

Stage Engine::stage(const std::string& kernel, const std::vector<BufferPtr>& inputs,
                    const BufferPtr& output, const Params& params) {
  const std::shared_ptr<const Descriptor> descriptor = registry_.find(kernel);
  const Call call = validate(*descriptor, types_of(inputs), output->type(), params);
  return planned(*descriptor, call, inputs, output);
}

std::vector<Stage> Engine::stages(const std::string& kernel, const std::vector<BufferPtr>& inputs,
                                  const BufferPtr& output, const Params& params) {
  const std::shared_ptr<const Descriptor> descriptor = registry_.find(kernel);
  const Call call = validate(*descriptor, types_of(inputs), output->type(), params);
  if (descriptor->expand) return descriptor->expand(call, inputs, output);
  return {planned(*descriptor, call, inputs, output)};
}

PlannedStage Engine::pipeline_stage(const std::string& kernel, const std::vector<BufferPtr>& inputs,
                                    const BufferPtr& output, const Params& params) {
  const std::shared_ptr<const Descriptor> descriptor = registry_.find(kernel);
  const Call call = validate(*descriptor, types_of(inputs), output->type(), params);
  if (descriptor->expand) {
    Launch launch;
    launch.name = descriptor->name;
    for (const TensorType& type : call.inputs) launch.bytes += static_cast<double>(type.bytes());
    launch.bytes += static_cast<double>(call.output.bytes());
    return {Stage{std::make_shared<const Launch>(std::move(launch)), inputs, output}, std::nullopt,
            descriptor->expand(call, inputs, output)};
  }
  PlannedStage result{planned(*descriptor, call, inputs, output), std::nullopt};
  // Where there is nothing to compute, there is nothing to fuse.
  if (descriptor->body && !result.stage.launch->steps.empty()) {
    result.fusible = Fusible{descriptor->body(call, planner_), call.inputs, call.output};
  }
  return result;
}

PlannedStage Engine::pipeline_copy(const BufferPtr& from, const BufferPtr& to) {
  PlannedStage result{copy_stage(from, to), std::nullopt};
  const Call call{{from->type()}, to->type(), {}};
  const bool arithmetic = to->type().dtype != DType::f64 || planner_.fp64();
  if (arithmetic && !result.stage.launch->steps.empty()) {
    result.fusible =
        Fusible{op_body({"identity", 1, 0}, call, planner_, {}), call.inputs, call.output};
  }
  return result;
}

PipelinePlan Engine::plan(const std::vector<PlannedStage>& stages) {
  return plan_pipeline(stages, planner_, runtime_.config().fusion);
}

Stage Engine::copy_stage(const BufferPtr& from, const BufferPtr& to) {
  if (from->type() != to->type()) {
    throw Error(
        from->type().dtype != to->type().dtype ? Reason::dtype_mismatch : Reason::shape_mismatch,
        text("copy_buffer copies between buffers of one type, got ", to_string(from->type()),
             " and ", to_string(to->type())));
  }
  Launch launch;
  const size_t bytes = from->type().bytes();
  if (bytes > 0 && from != to) launch.steps.push_back(CopyStep{input(0), dala::output(), bytes});
  launch.name = "copy_buffer";
  launch.bytes = 2.0 * static_cast<double>(bytes);
  launch.in_place = true;  // onto itself there is nothing to do
  launch.work = 2.0 * static_cast<double>(bytes);
  return Stage{std::make_shared<const Launch>(std::move(launch)), {from}, to};
}

}  // namespace dala
