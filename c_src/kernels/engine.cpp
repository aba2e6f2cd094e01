#include "kernels/engine.hpp"

#include <utility>

namespace dala {

Engine::Engine(const Config& config)
    : runtime_(config),
      planner_(runtime_.device(), runtime_.programs(), runtime_.config().matmul) {}

Stage Engine::stage(const std::string& kernel, const std::vector<BufferPtr>& inputs,
                    const BufferPtr& output, const Params& params) {
  const std::shared_ptr<const Descriptor> descriptor = registry_.find(kernel);
  std::vector<TensorType> types;
  types.reserve(inputs.size());
  for (const BufferPtr& buffer : inputs) types.push_back(buffer->type());
  const Call call = validate(*descriptor, std::move(types), output->type(), params);
  Launch launch = descriptor->plan(call, planner_);
  launch.name = kernel;
  launch.bytes = static_cast<double>(call.output.bytes());
  for (const TensorType& type : call.inputs) launch.bytes += static_cast<double>(type.bytes());
  return Stage{std::make_shared<const Launch>(std::move(launch)), inputs, output};
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
