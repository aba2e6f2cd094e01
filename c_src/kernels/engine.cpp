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

Engine::Engine(const Config& config, std::function<void(const Error&)> on_lost)
    : runtime_(config, std::move(on_lost)),
      planner_(runtime_.device(), runtime_.programs(), runtime_.config().matmul) {}

void Engine::add_custom(Descriptor descriptor) {
  auto programs =
      std::make_shared<Programs>(descriptor.programs.begin(), descriptor.programs.end());
  descriptor.programs.clear();
  if (descriptor.plan) {
    descriptor.plan = [this, programs, plan = std::move(descriptor.plan)](const Call& call,
                                                                          Planner& planner) {
      Launch launch = plan(call, planner);
      const std::lock_guard lock(custom_mutex_);
      for (const Step& step : launch.steps) {
        if (const auto* kernel = std::get_if<KernelStep>(&step)) programs->insert(kernel->program);
      }
      return launch;
    };
  }
  const std::string name = descriptor.name;
  registry_.add(std::move(descriptor));
  const std::lock_guard lock(custom_mutex_);
  custom_programs_[name] = std::move(programs);
}

bool Engine::remove_custom(const std::string& name) {
  if (!registry_.remove(name)) return false;
  Programs programs;
  {
    const std::lock_guard lock(custom_mutex_);
    const auto found = custom_programs_.find(name);
    if (found == custom_programs_.end()) return true;
    programs.swap(*found->second);
    custom_programs_.erase(found);
  }
  for (const auto& program : programs) planner_.forget(program);
  // The worker is joined before the programs of the runtime go.
  runtime_.worker().post([this, programs = std::move(programs)] {
    for (const auto& program : programs) runtime_.programs().discard(program);
  });
  return true;
}

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
        Fusible{op_body({"identity", 1, 0}, to->type().dtype, call, {}), call.inputs, call.output};
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
