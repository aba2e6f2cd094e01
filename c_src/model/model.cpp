#include "model/model.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "model/load.hpp"
#include "model/ops/table.hpp"
#include "model/passes/optimize.hpp"
#include "model/signature.hpp"
#include "runtime/program/program.hpp"
#include "runtime/schedule/profile.hpp"

namespace dala::model {
namespace {

void build_programs(const plan::Plan& plan) {
  std::set<Program*> built;
  for (const plan::Node& node : plan.nodes()) {
    for (const Step& step : node.launch->steps) {
      const auto* kernel = std::get_if<KernelStep>(&step);
      if (kernel != nullptr && built.insert(kernel->program.get()).second) kernel->program->build();
    }
  }
}

// The time of each layer, of which the kernels are named by the number of their node.
std::vector<Model::LayerTime> layer_times(const plan::Plan& plan, const Profile& profile) {
  const auto kernels = profile.kernels();
  std::vector<Model::LayerTime> layers;
  for (size_t i = 0; i < plan.nodes().size(); ++i) {
    const std::string& layer = plan.nodes()[i].label;
    if (layers.empty() || layers.back().layer != layer) layers.push_back({layer, 0});
    const auto found = kernels.find(std::to_string(i));
    if (found != kernels.end()) layers.back().nanoseconds += found->second.device_ns;
  }
  return layers;
}

void check_output(const BufferPtr& output, const TensorType& wanted) {
  if (output->type() == wanted) return;
  const bool dtype = output->type().dtype != wanted.dtype;
  throw Error(
      dtype ? Reason::dtype_mismatch : Reason::shape_mismatch,
      text("the output is ", to_string(output->type()), ", the model gives ", to_string(wanted)));
}

}  // namespace

Model::Model(Engine& engine, Graph graph) : engine_(engine), plans_(engine, std::move(graph)) {}

std::shared_ptr<Model> Model::load(Engine& engine, std::span<const std::byte> file,
                                   const std::string& folder) {
  return from_graph(engine, load_graph(file, folder));
}

std::shared_ptr<Model> Model::load_file(Engine& engine, const std::string& path) {
  return from_graph(engine, load_graph_file(path));
}

std::shared_ptr<Model> Model::from_graph(Engine& engine, Graph graph) {
  try {
    check_operators(graph);
    std::shared_ptr<Model> model(new Model(engine, optimized(std::move(graph))));
    model->prepare();
    return model;
  } catch (const Error& problem) {
    rethrow_as_invalid(problem);
  }
}

Model::Info Model::info() {
  Info info{plans_.counts()};
  info.working_bytes = plans_.working_bytes();
  return info;
}

uint64_t Model::memory_limit() const { return engine_.runtime().memory().info().limit; }

std::vector<Shape> Model::shapes_of(const std::vector<BufferPtr>& inputs) const {
  return checked_shapes(plans_.inputs(), inputs, memory_limit());
}

void Model::get_ready(const std::vector<Shape>& shapes) {
  check_shapes(plans_.inputs(), shapes, memory_limit());
  const PlanPtr plan = plans_.find_or_make(shapes);
  if (plan == nullptr) return;
  build_programs(*plan);
  plans_.forget_packed_weights();
}

// Gets ready for the shapes that the first prediction most likely has.
void Model::prepare() {
  const auto likely = likely_shapes(plans_.inputs());
  if (!likely) return;
  try {
    get_ready(likely->shapes);
  } catch (const Error&) {
    // Shapes that were only likely may not fit.
    if (likely->certain) throw;
  }
}

// The model may be freed by another thread between planning and submission.
CommandId Model::submit(const plan::Plan::Bound& bound, std::shared_ptr<Client> client,
                        const Listener& listener, std::shared_ptr<Profile> watcher) {
  try {
    return engine_.runtime().scheduler().submit(bound.stages, std::move(client), listener,
                                                std::move(watcher));
  } catch (const Error& problem) {
    if (problem.reason != Reason::freed || !freed()) throw;
    throw model_freed();
  }
}

std::optional<CommandId> Model::predict(const std::vector<BufferPtr>& inputs,
                                        std::shared_ptr<Client> client, const Done& done) {
  const PlanPtr plan = plans_.find_or_make(shapes_of(inputs), &inputs);
  if (plan == nullptr) {
    done(plans_.run(inputs), nullptr);
    return std::nullopt;
  }
  plan::Plan::Bound bound = plan->bind(engine_.runtime(), inputs);
  return submit(
      bound, std::move(client),
      [done, outputs = bound.outputs](CommandId, const Error* error) { done(outputs, error); });
}

std::vector<BufferPtr> Model::predict_now(const std::vector<BufferPtr>& inputs) {
  const PlanPtr plan = plans_.find_or_make(shapes_of(inputs), &inputs);
  if (plan == nullptr) return plans_.run(inputs);
  Runtime& runtime = engine_.runtime();
  plan::Plan::Bound bound = plan->bind(runtime, inputs);
  runtime.wait(submit(bound, nullptr, nullptr));
  return std::move(bound.outputs);
}

Model::Profiled Model::profile(const std::vector<BufferPtr>& inputs) {
  const PlanPtr plan = plans_.find_or_make(shapes_of(inputs), &inputs);
  if (plan == nullptr) throw needs_plan("cannot be profiled");
  Runtime& runtime = engine_.runtime();
  plan::Plan::Bound bound = plan->bind(runtime, inputs);
  // A profile is keyed by the name of the launch, so each stage gets a unique name.
  for (size_t i = 0; i < bound.stages.size(); ++i) {
    auto renamed = std::make_shared<Launch>(*bound.stages[i].launch);
    renamed->name = std::to_string(i);
    bound.stages[i].launch = std::move(renamed);
  }
  const auto watcher = std::make_shared<Profile>();
  runtime.wait(submit(bound, nullptr, nullptr, watcher));
  return {std::move(bound.outputs), layer_times(*plan, *watcher)};
}

std::optional<std::vector<Stage>> Model::stages(const std::vector<BufferPtr>& inputs, size_t index,
                                                const BufferPtr& output, Expansion expansion) {
  const std::vector<Shape> shapes = shapes_of(inputs);
  const bool at_once = expansion == Expansion::at_once;
  const PlanPtr plan = at_once ? plans_.find(shapes) : plans_.find_or_make(shapes);
  if (plan == nullptr && at_once) return std::nullopt;
  if (plan == nullptr) throw needs_plan("is no kernel");
  check_output(output, plan->outputs()[index].type);

  Runtime& runtime = engine_.runtime();
  // Layers may read an input after the output has been written.
  const bool apart = std::find(inputs.begin(), inputs.end(), output) != inputs.end();
  std::vector<BufferPtr> outputs;
  for (const plan::Plan::Output& each : plan->outputs()) {
    if (outputs.size() == index && !apart) {
      outputs.push_back(output);
      continue;
    }
    StoragePtr storage = runtime.memory().allocate(each.type.bytes());
    outputs.push_back(std::make_shared<Buffer>(each.type, std::move(storage)));
  }
  const auto memory =
      expansion == Expansion::apart ? plan::Plan::Memory::fresh : plan::Plan::Memory::kept;
  std::vector<Stage> stages = plan->bind(runtime, inputs, outputs, memory);
  if (apart) stages.push_back(engine_.copy_stage(outputs[index], output));
  return stages;
}

}  // namespace dala::model
