#include "model/model_kernel.hpp"

#include <algorithm>
#include <utility>

namespace dala::model {
namespace {

std::vector<std::string> names_of(const std::vector<Port>& ports) {
  std::vector<std::string> names;
  for (const Port& port : ports) names.push_back(port.name);
  return names;
}

std::vector<DType> dtypes_of(const std::vector<Port>& ports) {
  std::vector<DType> dtypes;
  for (const Port& port : ports) {
    const DType dtype = storage_of(port.type);
    if (std::find(dtypes.begin(), dtypes.end(), dtype) == dtypes.end()) dtypes.push_back(dtype);
  }
  return dtypes;
}

ParamSpec output_param() {
  ParamSpec param;
  param.name = "output";
  param.kind = ParamSpec::Kind::name;
  param.summary = "which of the model's outputs is written";
  return param;
}

Error no_kernel() {
  return Error(Reason::unsupported,
               "a model whose shapes depend on values runs step by step and is no kernel");
}

size_t output_index(const Model& model, const Call& call) {
  const std::vector<std::string> names = names_of(model.outputs());
  if (names.size() == 1) return 0;
  const auto found = call.has("output")
                         ? std::find(names.begin(), names.end(), call.choice("output"))
                         : names.end();
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  throw Error(Reason::invalid_param, text("the model has ", names.size(), " outputs, ", join(names),
                                          "; the parameter output names the one to write",
                                          call.has("output") ? ", got " : "",
                                          call.has("output") ? call.choice("output") : ""));
}

}  // namespace

// The plan, if there is one already. Never waits.
Model::PlanPtr Model::plan_at_once(const std::vector<Shape>& shapes) {
  // Held for long by whoever plans.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return nullptr;
  if (freed_) throw Error(Reason::freed, "the model has been freed");
  if (eager_ || by_value_) throw no_kernel();
  const auto found = plans_.find(shapes);
  if (found == plans_.end()) return nullptr;
  found->second.used = ++uses_;
  return found->second.plan;
}

std::optional<std::vector<Stage>> Model::stages(const std::vector<BufferPtr>& inputs, size_t index,
                                                const BufferPtr& output, Expansion expansion) {
  const std::vector<Shape> shapes = shapes_of(inputs);
  const bool at_once = expansion == Expansion::at_once;
  const PlanPtr plan = at_once ? plan_at_once(shapes) : plan_for(shapes);
  if (plan == nullptr && at_once) return std::nullopt;
  if (plan == nullptr) throw no_kernel();
  const TensorType wanted = plan->outputs()[index].type;
  if (output->type() != wanted) {
    const bool dtype = output->type().dtype != wanted.dtype;
    throw Error(
        dtype ? Reason::dtype_mismatch : Reason::shape_mismatch,
        text("the output is ", to_string(output->type()), ", the model gives ", to_string(wanted)));
  }

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

Descriptor model_kernel(const std::string& name, const std::shared_ptr<Model>& model, bool keep) {
  Descriptor descriptor;
  descriptor.name = name;
  descriptor.summary = text("A model: ", join(names_of(model->inputs())), " to ",
                            join(names_of(model->outputs())), ".");
  descriptor.inputs = static_cast<int>(model->inputs().size());
  descriptor.dtypes = dtypes_of(model->inputs());
  descriptor.output_rule = "that of the model, see model_info/1";
  if (model->outputs().size() > 1) descriptor.params.push_back(output_param());

  const std::weak_ptr<Model> weak = model;
  descriptor.gone = [weak] {
    const auto model = weak.lock();
    return model == nullptr || model->freed();
  };
  descriptor.expand = [weak, kept = keep ? model : nullptr](
                          const Call& call, const std::vector<BufferPtr>& inputs,
                          const BufferPtr& output, Expansion expansion) {
    const auto model = weak.lock();
    if (model == nullptr) throw Error(Reason::freed, "the model has been freed");
    return model->stages(inputs, output_index(*model, call), output, expansion);
  };
  return descriptor;
}

}  // namespace dala::model
