// Pipelines: stages are decoded when they are added, and planned at the first run.
#include <optional>
#include <utility>

#include "nif/job.hpp"
#include "nif/pipeline.hpp"

namespace dala::nif {
namespace {

using plan::Pipeline;
using plan::PipelinePlan;

ERL_NIF_TERM field(ErlNifEnv* env, ERL_NIF_TERM stage, std::string_view key) {
  ERL_NIF_TERM value = 0;
  if (enif_get_map_value(env, stage, atom(env, key), &value) != 0) return value;
  throw Error(Reason::invalid_param, text("the stage has no ", key));
}

std::string decode_name(ErlNifEnv* env, ERL_NIF_TERM term) {
  ErlNifBinary binary;
  if (enif_inspect_binary(env, term, &binary) != 0) {
    if (binary.size > kMostText) {
      throw Error(Reason::invalid_param, text("the name of a kernel has ", binary.size,
                                              " bytes, the most is ", kMostText));
    }
    return {reinterpret_cast<const char*>(binary.data), binary.size};
  }
  const std::string name = atom_name(env, term);
  if (!name.empty() && name != "nil") return name;
  throw Error(Reason::invalid_param,
              text("a kernel's name is an atom or a string, got ", shown(env, term)));
}

// A stage that is too large to be kept comes as what is wrong with it.
void need_no_problem(ErlNifEnv* env, ERL_NIF_TERM stage) {
  ERL_NIF_TERM problem = 0;
  if (enif_get_map_value(env, stage, atom(env, "problem"), &problem) == 0) return;
  throw Error(Reason::invalid_param, fine::decode<std::string>(env, problem));
}

Pipeline::Added decode_valid_stage(ErlNifEnv* env, ERL_NIF_TERM stage) {
  need_no_problem(env, stage);
  const std::string op = atom_name(env, field(env, stage, "op"));
  if (op == "barrier") return Pipeline::Barrier{};
  if (op != "run_kernel" && op != "copy_buffer") {
    throw Error(Reason::unsupported,
                text("a stage's op is :run_kernel, :copy_buffer or :barrier, got ",
                     shown(env, field(env, stage, "op"))));
  }
  auto inputs = decode_buffers(env, field(env, stage, "inputs"));
  auto output = decode_buffer(env, field(env, stage, "output"), "the output");
  if (op == "run_kernel") {
    return Pipeline::Kernel{decode_name(env, field(env, stage, "kernel")), std::move(inputs),
                            std::move(output), decode_params(env, field(env, stage, "params"))};
  }
  if (inputs.size() != 1) {
    throw Error(Reason::arity_mismatch, text("copy_buffer takes 1 input, got ", inputs.size()));
  }
  return Pipeline::Copy{std::move(inputs.front()), std::move(output)};
}

// A stage that is invalid is an error of the pipeline's run, not of adding it.
Pipeline::Added decode_stage(ErlNifEnv* env, ERL_NIF_TERM stage) {
  try {
    return decode_valid_stage(env, stage);
  } catch (const Error& problem) {
    return problem;
  } catch (const std::invalid_argument& malformed) {
    return Error(Reason::invalid_param, malformed.what());
  }
}

Term bytes(ErlNifEnv* env, double count) {
  return unsigned_integer(env, static_cast<uint64_t>(count));
}

Term encode_step(ErlNifEnv* env, const PipelinePlan::Step& step) {
  std::vector<Term> stages;
  for (size_t stage : step.stages) stages.push_back(unsigned_integer(env, stage));
  std::vector<Term> kernels;
  for (const std::string& kernel : step.kernels) kernels.push_back(string(env, kernel));
  std::vector<Term> outputs;
  for (const TensorType& type : step.outputs) outputs.push_back(string(env, to_string(type)));
  return map(env, {{"stages", list(env, stages)},
                   {"kernels", list(env, kernels)},
                   {"outputs", list(env, outputs)},
                   {"bytes", bytes(env, step.bytes)},
                   {"unfused_bytes", bytes(env, step.unfused_bytes)}});
}

}  // namespace

void PipelineResource::add(ErlNifEnv* env, ERL_NIF_TERM stage) {
  Pipeline::Added added = decode_stage(env, stage);
  auto kept = std::make_shared<const StageTerm>(stage);
  const std::lock_guard lock(mutex_);
  terms_.push_back(std::move(kept));
  try {
    pipeline.add(std::move(added));
  } catch (...) {
    terms_.pop_back();
    throw;
  }
}

PipelineResource::Terms PipelineResource::terms() {
  const std::lock_guard lock(mutex_);
  pipeline.count();  // throws once it has been freed
  return terms_;
}

void PipelineResource::free() {
  struct Held {
    Terms terms;
    Pipeline::Rest rest;
  };
  auto held = std::make_shared<Held>();
  {
    const std::lock_guard lock(mutex_);
    held->terms = std::move(terms_);
    terms_.clear();
  }
  held->rest = pipeline.free();
  if (held->terms.size() > Pipeline::kManyStages) Instance::get().let_go_memory(std::move(held));
}

Term pipeline_new(ErlNifEnv* env) {
  return fine::encode(env, fine::make_resource<PipelineResource>());
}
FINE_NIF(pipeline_new, 0);

Term pipeline_add(ErlNifEnv* env, fine::ResourcePtr<PipelineResource> resource, Term stage) {
  return guarded(env, [&] {
    resource->add(env, stage);
    return atom(env, "ok");
  });
}
FINE_NIF(pipeline_add, 0);

Term pipeline_count(ErlNifEnv* env, fine::ResourcePtr<PipelineResource> resource) {
  return guarded(env, [&] { return ok(env, unsigned_integer(env, resource->pipeline.count())); });
}
FINE_NIF(pipeline_count, 0);

Term pipeline_stages(ErlNifEnv* env, fine::ResourcePtr<PipelineResource> resource) {
  return guarded(env, [&] {
    std::vector<Term> copies;
    for (const auto& stage : resource->terms()) {
      copies.emplace_back(enif_make_copy(env, stage->term()));
    }
    return ok(env, list(env, copies));
  });
}
FINE_NIF(pipeline_stages, ERL_NIF_DIRTY_JOB_CPU_BOUND);

// All stages go to the device as one command; the caller gets `{ref, :ok | {:error, e}}`. What they
// did is counted in `profile`, unless that is nil. Where planning or submitting takes long, it
// happens on another thread: then the id is 0, and a problem comes as the message.
Term pipeline_run(ErlNifEnv* env, fine::ResourcePtr<PipelineResource> resource, Term ref,
                  std::optional<fine::ResourcePtr<ProfileResource>> profile) {
  return guarded(env, [&] {
    // Jobs hold no reference to the engine, which goes only after their threads.
    Engine* current = engine().get();
    Scheduler& scheduler = current->runtime().scheduler();
    const auto message = Message::reply(self(env), ref);
    const auto submit = [current, message, client = waiting_client(env),
                         counted =
                             profile ? (*profile)->profile : nullptr](const PipelinePlan& plan) {
      Runtime& runtime = current->runtime();
      try {
        return runtime.scheduler().submit(plan.bind(runtime), client, tell(message), counted,
                                          plan.uses());
      } catch (const Error& problem) {
        throw Pipeline::submission_error(problem);
      }
    };
    const Pipeline::PlanPtr plan = resource->pipeline.plan(*current, Expansion::at_once);
    if (plan != nullptr && plan->nodes().size() <= Scheduler::kLengthy) {
      return ok(env, unsigned_integer(env, submit(*plan)));
    }
    if (plan != nullptr) {
      scheduler.post_lengthy(
          [submit, message, plan] { run_job(*message, [&] { submit(*plan); }); });
    } else {
      post_job(message, [submit, resource, current] {
        submit(*resource->pipeline.plan(*current, Expansion::in_full));
      });
    }
    return ok(env, unsigned_integer(env, 0));
  });
}
FINE_NIF(pipeline_run, 0);

// What a run does: the caller gets `{ref, {:ok, %{steps: [...], temporary_bytes: n}} | {:error,
// e}}`, each step with its stages' indexes, their kernels (none for a barrier), the types it
// writes, and the bytes it moves, fused and not.
Term pipeline_explain(ErlNifEnv* env, fine::ResourcePtr<PipelineResource> resource, Term ref) {
  return guarded(env, [&] {
    Engine* current = engine().get();
    const auto message = Message::reply(self(env), ref);
    post_job(message, [resource, current, message] {
      const auto plan = resource->pipeline.plan(*current, Expansion::in_full);
      ErlNifEnv* own = message->env();
      std::vector<Term> steps;
      for (const PipelinePlan::Step& step : plan->steps()) steps.push_back(encode_step(own, step));
      const Term explained =
          map(own, {{"steps", list(own, steps)},
                    {"temporary_bytes", unsigned_integer(own, plan->temporary_bytes())}});
      message->send(ok(own, explained));
    });
    return atom(env, "ok");
  });
}
FINE_NIF(pipeline_explain, 0);

Term pipeline_free(ErlNifEnv* env, fine::ResourcePtr<PipelineResource> resource) {
  resource->free();
  return atom(env, "ok");
}
FINE_NIF(pipeline_free, 0);

}  // namespace dala::nif
