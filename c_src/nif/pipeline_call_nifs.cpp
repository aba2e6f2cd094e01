// A pipeline as a function: its stages name ports, buffers that have a type and no memory, and each
// call puts buffers in their place.
#include <unordered_map>

#include "nif/instance.hpp"
#include "nif/pipeline.hpp"

namespace dala::nif {
namespace {

using plan::Pipeline;
using plan::PipelinePlan;
using Places = std::unordered_map<const Buffer*, BufferPtr>;

const BufferPtr& in_place_of(const BufferPtr& buffer, const Places& places) {
  const auto found = places.find(buffer.get());
  return found == places.end() ? buffer : found->second;
}

std::vector<Stage> bound_stages(const PipelinePlan& plan, Runtime& runtime, const Places& places) {
  std::vector<Stage> stages = plan.bind(runtime);
  for (Stage& stage : stages) {
    for (BufferPtr& input : stage.inputs) input = in_place_of(input, places);
    if (stage.output != nullptr) stage.output = in_place_of(stage.output, places);
    for (BufferPtr& output : stage.more_outputs) output = in_place_of(output, places);
  }
  return stages;
}

std::vector<Use> bound_uses(const PipelinePlan& plan, const Places& places) {
  std::vector<Use> uses = plan.uses();
  for (Use& use : uses) use.buffer = in_place_of(use.buffer, places);
  return uses;
}

void check_type(const Buffer& port, const Buffer& given, size_t index) {
  if (port.type() == given.type()) return;
  throw Error(Reason::shape_mismatch, text("input ", index, " is ", to_string(given.type()),
                                           ", expected ", to_string(port.type())));
}

Term call(ErlNifEnv* env, PipelineResource& resource, Expansion expansion, Term ports, Term inputs,
          Term results) {
  return guarded(env, [&] {
    const auto current = engine();
    const Pipeline::PlanPtr plan = resource.pipeline.plan(*current, expansion);
    if (plan == nullptr ||
        (expansion == Expansion::at_once && plan->nodes().size() > Scheduler::kLengthy)) {
      return atom(env, "lengthy");
    }
    const std::vector<BufferPtr> wanted = decode_buffers(env, ports);
    const std::vector<BufferPtr> given = decode_buffers(env, inputs);
    if (wanted.size() != given.size()) {
      throw Error(Reason::arity_mismatch,
                  text("the pipeline has ", wanted.size(), " inputs, got ", given.size()));
    }
    Places places;
    for (size_t i = 0; i < wanted.size(); ++i) {
      check_type(*wanted[i], *given[i], i);
      places.emplace(wanted[i].get(), given[i]);
    }
    Runtime& runtime = current->runtime();
    std::vector<Term> made;
    for (const BufferPtr& port : decode_buffers(env, results)) {
      const BufferPtr result = undefined_buffer(runtime, port->type());
      places.emplace(port.get(), result);
      made.emplace_back(fine::encode(env, fine::make_resource<BufferResource>(result)));
    }
    runtime.scheduler().submit(bound_stages(*plan, runtime, places), submitting_client(env, false),
                               nullptr, nullptr, bound_uses(*plan, places), true);
    return ok(env, list(env, made));
  });
}

}  // namespace

// Stands for another buffer of its type in the stages of a pipeline; see `pipeline_call`.
Term buffer_port(ErlNifEnv* env, Term shape, Term dtype) {
  return guarded(env, [&] {
    const TensorType type = decode_type(env, shape, dtype);
    return new_buffer(env,
                      std::make_shared<Buffer>(type, engine()->runtime().memory().allocate(0)));
  });
}
FINE_NIF(buffer_port, 0);

// Submits the stages as one command, with `inputs` in place of `ports`, and new buffers, which are
// returned, in place of `results`. As for `compute`, what goes wrong later is an error of whoever
// reads a result. `:lengthy` where that takes long: then the function below is for it.
Term pipeline_call(ErlNifEnv* env, fine::ResourcePtr<PipelineResource> pipeline, Term ports,
                   Term inputs, Term results) {
  return call(env, *pipeline, Expansion::at_once, ports, inputs, results);
}
FINE_NIF(pipeline_call, 0);

// The same for pipelines of many stages, and for the first call, which plans.
Term pipeline_call_dirty(ErlNifEnv* env, fine::ResourcePtr<PipelineResource> pipeline, Term ports,
                         Term inputs, Term results) {
  return call(env, *pipeline, Expansion::in_full, ports, inputs, results);
}
FINE_NIF(pipeline_call_dirty, ERL_NIF_DIRTY_JOB_CPU_BOUND);

}  // namespace dala::nif
