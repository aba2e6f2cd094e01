#include "kernels/engine.hpp"

#include <algorithm>
#include <utility>

#include "kernels/tuning/tuning.hpp"
#include "runtime/program/disk_cache.hpp"
#include "runtime/schedule/reservation.hpp"

namespace dala {
namespace {

std::vector<TensorType> types_of(const std::vector<BufferPtr>& buffers) {
  std::vector<TensorType> types;
  types.reserve(buffers.size());
  for (const BufferPtr& buffer : buffers) types.push_back(buffer->type());
  return types;
}

}  // namespace

double bytes_of(const Call& call) {
  auto bytes = static_cast<double>(call.output.bytes());
  for (const TensorType& type : call.inputs) bytes += static_cast<double>(type.bytes());
  for (const TensorType& type : call.more_outputs) bytes += static_cast<double>(type.bytes());
  return bytes;
}

Engine::Engine(const Config& config, std::function<void(const Error&)> on_lost)
    : runtime_(config, std::move(on_lost)),
      planner_(runtime_.device(), runtime_.programs(), runtime_.config().matmul) {
  DiskCache files(runtime_.folders().store.folder, 0);
  load_winners(runtime_.device().info(), files);
}

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
  // The worker is joined before the runtime's programs are destroyed.
  runtime_.worker().post([this, programs = std::move(programs)] {
    for (const auto& program : programs) runtime_.programs().discard(program);
  });
  return true;
}

Engine::Checked Engine::check(const std::string& kernel, const std::vector<BufferPtr>& inputs,
                              const BufferPtr& output, const Params& params,
                              const std::vector<BufferPtr>& more_outputs) const {
  std::shared_ptr<const Descriptor> descriptor = registry_.find(kernel);
  Call call =
      validate(*descriptor, types_of(inputs), output->type(), params, types_of(more_outputs));
  for (size_t i = 0; i < more_outputs.size(); ++i) {
    const auto end = more_outputs.begin() + static_cast<std::ptrdiff_t>(i);
    const BufferPtr& each = more_outputs[i];
    if (each != output && std::find(more_outputs.begin(), end, each) == end) continue;
    throw Error(Reason::invalid_param,
                text("two outputs of ", kernel, " are the same buffer; each needs one of its own"));
  }
  return {std::move(descriptor), std::move(call)};
}

std::shared_ptr<const Launch> Engine::launch(const Checked& checked) {
  Launch launch = checked.descriptor->plan(checked.call, planner_);
  launch.name = checked.descriptor->name;
  launch.bytes = bytes_of(checked.call);
  return std::make_shared<const Launch>(std::move(launch));
}

Stage Engine::stage(const std::string& kernel, const std::vector<BufferPtr>& inputs,
                    const BufferPtr& output, const Params& params) {
  return Stage{launch(check(kernel, inputs, output, params)), inputs, output};
}

std::optional<std::vector<Stage>> Engine::stages(const std::string& kernel,
                                                 const std::vector<BufferPtr>& inputs,
                                                 const BufferPtr& output, const Params& params,
                                                 Expansion expansion,
                                                 const std::vector<BufferPtr>& more_outputs) {
  const Checked checked = check(kernel, inputs, output, params, more_outputs);
  if (checked.descriptor->expand) {
    return checked.descriptor->expand(checked.call, inputs, output, expansion);
  }
  return std::vector<Stage>{{launch(checked), inputs, output, more_outputs}};
}

void Engine::complete(Reservation& reservation, const std::string& kernel, const Params& params) {
  if (!reservation.wanted()) return;
  try {
    const auto with = [&](Expansion expansion) {
      return *stages(kernel, reservation.inputs(), reservation.output(), params, expansion);
    };
    if (reservation.resolve(with(Expansion::in_full), false)) return;
    // The shared arena is in use by later commands, which may wait for this one.
    reservation.resolve(with(Expansion::apart), true);
  } catch (...) {
    reservation.fail(current_error());
  }
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
  launch.in_place = true;  // a copy onto itself is empty
  launch.work = 2.0 * static_cast<double>(bytes);
  return Stage{std::make_shared<const Launch>(std::move(launch)), {from}, to};
}

}  // namespace dala
