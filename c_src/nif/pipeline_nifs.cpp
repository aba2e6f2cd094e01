#include <utility>

#include "nif/pipeline.hpp"
#include "nif/preparation.hpp"

namespace dala::nif {
namespace {

ERL_NIF_TERM field(ErlNifEnv* env, ERL_NIF_TERM stage, std::string_view key) {
  ERL_NIF_TERM value = 0;
  if (enif_get_map_value(env, stage, atom(env, key), &value) != 0) return value;
  throw Error(Reason::invalid_param, text("the stage has no ", key));
}

std::string decode_name(ErlNifEnv* env, ERL_NIF_TERM term) {
  ErlNifBinary binary;
  if (enif_inspect_binary(env, term, &binary) != 0) {
    return {reinterpret_cast<const char*>(binary.data), binary.size};
  }
  const std::string name = atom_name(env, term);
  if (!name.empty() && name != "nil") return name;
  throw Error(Reason::invalid_param,
              text("a kernel's name is an atom or a string, got ", fine::format_term(env, term)));
}

// Says which stage of a pipeline the problem is in, unless it says so already.
Error in_stage(Error problem, int64_t stage) {
  for (const auto& [key, detail] : problem.details) {
    if (key == "stage") stage = std::get<int64_t>(detail);
  }
  std::erase_if(problem.details, [](const auto& entry) { return entry.first == "stage"; });
  problem.details.emplace_back("stage", stage);
  problem.message = text("stage ", stage, ": ", problem.message);
  return problem;
}

PlannedStage bind_stage(Engine& engine, ErlNifEnv* env, ERL_NIF_TERM stage) {
  const std::string op = atom_name(env, field(env, stage, "op"));
  if (op == "barrier") return PlannedStage{};
  if (op != "run_kernel" && op != "copy_buffer") {
    throw Error(Reason::unsupported,
                text("a stage's op is :run_kernel, :copy_buffer or :barrier, got ",
                     fine::format_term(env, field(env, stage, "op"))));
  }
  try {
    const auto inputs = decode_buffers(env, field(env, stage, "inputs"));
    const auto output = decode_buffer(env, field(env, stage, "output"), "the output");
    if (op == "run_kernel") {
      return engine.pipeline_stage(decode_name(env, field(env, stage, "kernel")), inputs, output,
                                   decode_params(env, field(env, stage, "params")));
    }
    if (inputs.size() != 1) {
      throw Error(Reason::arity_mismatch, text("copy_buffer takes 1 input, got ", inputs.size()));
    }
    return engine.pipeline_copy(inputs.front(), output);
  } catch (const std::invalid_argument& malformed) {
    throw Error(Reason::invalid_param, malformed.what());
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

PipelineResource::PipelineResource() : env_(enif_alloc_env()) {}

PipelineResource::~PipelineResource() { free(); }

void PipelineResource::require_alive() const {
  if (env_ == nullptr) throw Error(Reason::freed, "the pipeline has been freed");
}

void PipelineResource::add(ERL_NIF_TERM stage) {
  std::lock_guard lock(mutex_);
  require_alive();
  terms_.push_back(enif_make_copy(env_, stage));
  bound_.reset();
}

std::vector<Term> PipelineResource::stages(ErlNifEnv* env) {
  std::lock_guard lock(mutex_);
  require_alive();
  std::vector<Term> copies;
  for (ERL_NIF_TERM term : terms_) copies.emplace_back(enif_make_copy(env, term));
  return copies;
}

std::shared_ptr<const PipelinePlan> PipelineResource::bind(Engine& engine) {
  std::lock_guard lock(mutex_);
  require_alive();
  const uint64_t generation = engine.registry().generation();
  if (bound_ != nullptr && bound_generation_ == generation) return bound_;
  std::vector<PlannedStage> stages;
  for (ERL_NIF_TERM term : terms_) {
    try {
      stages.push_back(bind_stage(engine, env_, term));
    } catch (const Error& problem) {
      throw in_stage(problem, static_cast<int64_t>(stages.size()));
    }
  }
  try {
    bound_ = std::make_shared<const PipelinePlan>(engine.plan(stages));
  } catch (const Error& problem) {
    throw in_stage(problem, 0);
  }
  bound_generation_ = generation;
  return bound_;
}

void PipelineResource::free() {
  std::lock_guard lock(mutex_);
  bound_.reset();
  terms_.clear();
  if (env_ != nullptr) enif_free_env(env_);
  env_ = nullptr;
}

Term pipeline_new(ErlNifEnv* env) {
  return fine::encode(env, fine::make_resource<PipelineResource>());
}
FINE_NIF(pipeline_new, 0);

Term pipeline_add(ErlNifEnv* env, fine::ResourcePtr<PipelineResource> pipeline, Term stage) {
  return guarded(env, [&] {
    pipeline->add(stage);
    return atom(env, "ok");
  });
}
FINE_NIF(pipeline_add, 0);

Term pipeline_stages(ErlNifEnv* env, fine::ResourcePtr<PipelineResource> pipeline) {
  return guarded(env, [&] { return ok(env, list(env, pipeline->stages(env))); });
}
FINE_NIF(pipeline_stages, 0);

// All stages go to the device as one command; the caller gets `{ref, :ok | {:error, e}}`. What they
// did is counted in `profile`, unless that is nil. `{:wait, ref}` is to be tried again, see
// `when_ready`; so it is for pipeline_explain.
Term pipeline_run(ErlNifEnv* env, fine::ResourcePtr<PipelineResource> pipeline, Term ref,
                  std::optional<fine::ResourcePtr<ProfileResource>> profile) {
  return when_ready(env, [&] {
    const auto current = engine();
    Scheduler& scheduler = current->runtime().scheduler();
    if (const auto id = scheduler.backlog()) {
      return tuple(env, {atom(env, "full"), unsigned_integer(env, *id)});
    }
    const auto plan = pipeline->bind(*current);
    const auto message = Message::reply(self(env), ref);
    const auto tell = [message](CommandId command, const Error* problem) {
      message->send_result(command, problem);
    };
    try {
      return ok(env, unsigned_integer(env, scheduler.submit(plan->stages, client(env), tell,
                                                            profile ? (*profile)->profile : nullptr,
                                                            plan->uses)));
    } catch (const Error& problem) {
      // A buffer that was there when the stages were bound.
      if (problem.reason == Reason::freed) throw in_stage(problem, 0);
      throw;
    }
  });
}
FINE_NIF(pipeline_run, 0);

// What a run does: `%{steps: [...], temporary_bytes: n}`, each step with its stages' indexes, their
// kernels (none for a barrier), the types it writes, and the bytes it moves, fused and not.
Term pipeline_explain(ErlNifEnv* env, fine::ResourcePtr<PipelineResource> pipeline) {
  return when_ready(env, [&] {
    const auto plan = pipeline->bind(*engine());
    std::vector<Term> steps;
    for (const PipelinePlan::Step& step : plan->steps) steps.push_back(encode_step(env, step));
    return ok(env, map(env, {{"steps", list(env, steps)},
                             {"temporary_bytes", unsigned_integer(env, plan->temporary_bytes)}}));
  });
}
FINE_NIF(pipeline_explain, 0);

Term pipeline_free(ErlNifEnv* env, fine::ResourcePtr<PipelineResource> pipeline) {
  pipeline->free();
  return atom(env, "ok");
}
FINE_NIF(pipeline_free, 0);

}  // namespace dala::nif
