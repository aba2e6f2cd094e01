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

// A stage that is too large to be kept comes as what is wrong with it.
void need_no_problem(ErlNifEnv* env, ERL_NIF_TERM stage) {
  ERL_NIF_TERM problem = 0;
  if (enif_get_map_value(env, stage, atom(env, "problem"), &problem) == 0) return;
  throw Error(Reason::invalid_param, fine::decode<std::string>(env, problem));
}

PlannedStage bind_stage(Engine& engine, ErlNifEnv* env, ERL_NIF_TERM stage) {
  need_no_problem(env, stage);
  const std::string op = atom_name(env, field(env, stage, "op"));
  if (op == "barrier") return PlannedStage{};
  if (op != "run_kernel" && op != "copy_buffer") {
    throw Error(Reason::unsupported,
                text("a stage's op is :run_kernel, :copy_buffer or :barrier, got ",
                     shown(env, field(env, stage, "op"))));
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

// Above this, binding and letting go take long enough to be left to another thread.
constexpr size_t kManyStages = 16;

PipelineResource::Plan plan_stages(Engine& engine, const PipelineResource::Stages& terms) {
  std::vector<PlannedStage> stages;
  stages.reserve(terms.size());
  for (const auto& stage : terms) {
    try {
      stages.push_back(bind_stage(engine, stage->env(), stage->term()));
    } catch (const Error& problem) {
      throw in_stage(problem, static_cast<int64_t>(stages.size()));
    }
  }
  try {
    return std::make_shared<const PipelinePlan>(engine.plan(stages));
  } catch (const Error& problem) {
    throw in_stage(problem, 0);
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

void PipelineResource::require_alive() const {
  if (freed_) throw Error(Reason::freed, "the pipeline has been freed");
}

void PipelineResource::add(ERL_NIF_TERM stage) {
  auto kept = std::make_shared<const StageTerm>(stage);
  std::lock_guard lock(mutex_);
  require_alive();
  stages_.push_back(std::move(kept));
  ++version_;
  binding_.reset();
}

size_t PipelineResource::count() {
  std::lock_guard lock(mutex_);
  require_alive();
  return stages_.size();
}

PipelineResource::Stages PipelineResource::stages() {
  std::lock_guard lock(mutex_);
  require_alive();
  return stages_;
}

PipelineResource::Plan PipelineResource::outcome(Engine& engine) const {
  require_alive();
  if (binding_ == nullptr || binding_->version != version_) return nullptr;
  if (binding_->generation != engine.registry().generation()) return nullptr;
  if (binding_->problem) throw *binding_->problem;
  return binding_->plan;
}

PipelineResource::Plan PipelineResource::bound(Engine& engine) {
  std::lock_guard lock(mutex_);
  return outcome(engine);
}

// Without the lock while it plans, so that nobody waits for it. Should the stages change meanwhile,
// this plan is for those of the call.
PipelineResource::Plan PipelineResource::bind(Engine& engine) {
  Stages stages;
  auto binding = std::make_shared<Binding>();
  {
    std::lock_guard lock(mutex_);
    if (Plan plan = outcome(engine)) return plan;
    stages = stages_;
    binding->version = version_;
  }
  binding->generation = engine.registry().generation();
  try {
    binding->plan = plan_stages(engine, stages);
  } catch (const Error& problem) {
    binding->problem = problem;
  }
  {
    std::lock_guard lock(mutex_);
    require_alive();
    if (binding->version == version_) binding_ = binding;
  }
  if (binding->problem) throw *binding->problem;
  return binding->plan;
}

// Both the stages and their plan hold buffers and programs.
void PipelineResource::free() {
  struct Held {
    Stages stages;
    std::shared_ptr<const Binding> binding;
  };
  auto held = std::make_shared<Held>();
  {
    std::lock_guard lock(mutex_);
    freed_ = true;
    held->stages = std::move(stages_);
    held->binding = std::move(binding_);
    stages_.clear();
  }
  if (held->stages.size() > kManyStages) Instance::get().let_go_memory(std::move(held));
}

namespace {

// Binds on a thread for models: when the message has come, the call is made again and finds the
// plan, or what is wrong. A model that a stage needs is planned there as well.
Term bind_apart(ErlNifEnv* env, const fine::ResourcePtr<PipelineResource>& pipeline) {
  // The job holds no reference to the engine, which goes only after the threads for models.
  Engine* current = engine().get();
  return prepare(env, NotReady{[current, pipeline] {
                   for (;;) {
                     try {
                       pipeline->bind(*current);
                       return;
                     } catch (const NotReady& missing) {
                       missing.prepare();
                     }
                   }
                 }});
}

// A buffer that was there when the stages were bound may be gone.
Error submission_error(const Error& problem) {
  return problem.reason == Reason::freed ? in_stage(problem, 0) : problem;
}

}  // namespace

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

Term pipeline_count(ErlNifEnv* env, fine::ResourcePtr<PipelineResource> pipeline) {
  return guarded(env, [&] { return ok(env, unsigned_integer(env, pipeline->count())); });
}
FINE_NIF(pipeline_count, 0);

Term pipeline_stages(ErlNifEnv* env, fine::ResourcePtr<PipelineResource> pipeline) {
  return guarded(env, [&] {
    std::vector<Term> copies;
    for (const auto& stage : pipeline->stages()) {
      copies.emplace_back(enif_make_copy(env, stage->term()));
    }
    return ok(env, list(env, copies));
  });
}
FINE_NIF(pipeline_stages, ERL_NIF_DIRTY_JOB_CPU_BOUND);

// All stages go to the device as one command; the caller gets `{ref, :ok | {:error, e}}`. What they
// did is counted in `profile`, unless that is nil. `{:wait, ref}` is to be tried again, see
// `when_ready`. Many stages are submitted on another thread: then the id is 0, and a problem comes
// as the message.
Term pipeline_run(ErlNifEnv* env, fine::ResourcePtr<PipelineResource> pipeline, Term ref,
                  std::optional<fine::ResourcePtr<ProfileResource>> profile) {
  return when_ready(env, [&] {
    const auto current = engine();
    Scheduler& scheduler = current->runtime().scheduler();
    if (const auto id = scheduler.backlog()) {
      return tuple(env, {atom(env, "full"), unsigned_integer(env, *id)});
    }
    PipelineResource::Plan plan = pipeline->bound(*current);
    if (plan == nullptr && pipeline->count() > kManyStages) return bind_apart(env, pipeline);
    if (plan == nullptr) plan = pipeline->bind(*current);
    const auto message = Message::reply(self(env), ref);
    const auto submit = [&scheduler, plan, message, client = waiting_client(env),
                         counted = profile ? (*profile)->profile : nullptr] {
      const auto tell = [message](CommandId command, const Error* problem) {
        message->send_result(command, problem);
      };
      return scheduler.submit(plan->stages, client, tell, counted, plan->uses);
    };
    if (plan->stages.size() <= Scheduler::kLengthy) {
      try {
        return ok(env, unsigned_integer(env, submit()));
      } catch (const Error& problem) {
        throw submission_error(problem);
      }
    }
    scheduler.post_lengthy([submit, message] {
      try {
        submit();
      } catch (const Error& problem) {
        const Error refused = submission_error(problem);
        message->send_result(0, &refused);
      } catch (const std::exception&) {
        message->send_result(0, current_error().get());
      }
    });
    return ok(env, unsigned_integer(env, 0));
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
FINE_NIF(pipeline_explain, ERL_NIF_DIRTY_JOB_CPU_BOUND);

Term pipeline_free(ErlNifEnv* env, fine::ResourcePtr<PipelineResource> pipeline) {
  pipeline->free();
  return atom(env, "ok");
}
FINE_NIF(pipeline_free, 0);

}  // namespace dala::nif
