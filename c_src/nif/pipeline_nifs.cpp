// Pipelines: stages are decoded when they are added, and planned at the first run.
#include <optional>
#include <utility>

#include "nif/resource/job.hpp"
#include "nif/resource/pipeline.hpp"

namespace dala::nif {

// A plan for people: its steps, and the bytes of temporaries that a run allocates.
struct Explained {
  plan::Pipeline::PlanPtr plan;
};

}  // namespace dala::nif

namespace fine {

using dala::nif::each;
using dala::nif::fields;

// One launch: the indexes of its stages, their kernels (none for a barrier), the types it writes,
// and the bytes it moves, fused and not.
template <>
struct Encoder<dala::plan::PipelinePlan::Step> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const dala::plan::PipelinePlan::Step& step) {
    const auto types =
        each(step.outputs, [](const dala::TensorType& type) { return dala::to_string(type); });
    const auto stages = each(step.stages, [](size_t stage) { return uint64_t{stage}; });
    return fields(env, "stages", stages, "kernels", step.kernels, "outputs", types, "bytes",
                  static_cast<uint64_t>(step.bytes), "unfused_bytes",
                  static_cast<uint64_t>(step.unfused_bytes));
  }
};

template <>
struct Encoder<dala::nif::Explained> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const dala::nif::Explained& explained) {
    return fields(env, "steps", explained.plan->steps(), "temporary_bytes",
                  uint64_t{explained.plan->temporary_bytes()});
  }
};

}  // namespace fine

namespace dala::nif {
namespace {

using plan::Pipeline;

std::string decode_name(ErlNifEnv* env, ERL_NIF_TERM term, const char* what) {
  ErlNifBinary binary;
  if (enif_inspect_binary(env, term, &binary) != 0) {
    if (binary.size > kMostText) {
      throw Error(Reason::invalid_param, text("the name of ", what, " has ", binary.size,
                                              " bytes, the most is ", kMostText));
    }
    return {reinterpret_cast<const char*>(binary.data), binary.size};
  }
  const std::string name = atom_name(env, term);
  if (!name.empty() && name != "nil") return name;
  throw Error(Reason::invalid_param,
              text("a kernel's name is an atom or a string, got ", shown(env, term)));
}

Pipeline::Added decode_valid_stage(ErlNifEnv* env, ERL_NIF_TERM stage) {
  const Options fields(env, stage, "the stage");
  // A stage that is too large to be kept comes as what is wrong with it.
  if (fields.has("problem")) {
    throw Error(Reason::invalid_param, fields.get<std::string>("problem"));
  }
  const Term op_term = fields.get<Term>("op");
  const std::string op = atom_name(env, op_term);
  if (op == "barrier") return Pipeline::Barrier{};
  if (op != "run_kernel" && op != "copy_buffer") {
    throw Error(
        Reason::unsupported,
        text("a stage's op is :run_kernel, :copy_buffer or :barrier, got ", shown(env, op_term)));
  }
  auto inputs = fields.get<Inputs>("inputs").buffers;
  Outputs outputs = fields.get<Outputs>("output");
  if (op == "run_kernel") {
    return Pipeline::Kernel{decode_name(env, fields.get<Term>("kernel"), "a kernel"),
                            std::move(inputs), std::move(outputs.first),
                            fields.get<Params>("params"), std::move(outputs.more)};
  }
  check_copy(inputs, outputs);
  return Pipeline::Copy{std::move(inputs.front()), std::move(outputs.first)};
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

// The name by which `pipeline_set` finds a stage; empty where it has none.
std::string name_of(ErlNifEnv* env, ERL_NIF_TERM stage) {
  const Options fields(env, stage, "the stage");
  return fields.has("name") ? decode_name(env, fields.get<Term>("name"), "a stage") : "";
}

// The stage with these parameters changed; its other parameters stay as they are.
ERL_NIF_TERM with_params(ErlNifEnv* env, ERL_NIF_TERM stage, ERL_NIF_TERM params) {
  const Options fields(env, stage, "the stage");
  if (atom_name(env, fields.get<Term>("op")) != "run_kernel") {
    throw Error(Reason::unsupported, "only a stage that runs a kernel has parameters");
  }
  ERL_NIF_TERM all = fields.get<Term>("params");
  if (enif_is_map(env, all) == 0) all = enif_make_new_map(env);
  ErlNifMapIterator iterator;
  if (enif_map_iterator_create(env, params, &iterator, ERL_NIF_MAP_ITERATOR_FIRST) == 0) {
    throw std::invalid_argument("params are a map, got " + shown(env, params));
  }
  ERL_NIF_TERM key = 0;
  ERL_NIF_TERM value = 0;
  while (enif_map_iterator_get_pair(env, &iterator, &key, &value) != 0) {
    enif_make_map_put(env, all, key, value, &all);
    enif_map_iterator_next(env, &iterator);
  }
  enif_map_iterator_destroy(env, &iterator);
  ERL_NIF_TERM result = 0;
  enif_make_map_put(env, stage, atom(env, "params"), all, &result);
  return result;
}

}  // namespace

void PipelineResource::add(ErlNifEnv* env, ERL_NIF_TERM stage) {
  Pipeline::Added added = decode_stage(env, stage);
  const std::string name = name_of(env, stage);
  auto kept = std::make_shared<const StageTerm>(stage);
  const std::lock_guard lock(mutex_);
  terms_.push_back(std::move(kept));
  try {
    pipeline.add(std::move(added));
    if (!name.empty()) names_[name].push_back(terms_.size() - 1);
  } catch (...) {
    terms_.pop_back();
    throw;
  }
}

bool PipelineResource::set(ErlNifEnv* env, const std::variant<uint64_t, std::string>& stage,
                           ERL_NIF_TERM params) {
  const std::lock_guard lock(mutex_);
  const size_t count = pipeline.count();  // throws once it has been freed
  std::vector<size_t> indexes;
  if (const auto* index = std::get_if<uint64_t>(&stage)) {
    if (*index < count) indexes.push_back(*index);
  } else if (const auto found = names_.find(std::get<std::string>(stage)); found != names_.end()) {
    indexes = found->second;
  }
  for (size_t each : indexes) {
    const ERL_NIF_TERM old = enif_make_copy(env, terms_[each]->term());
    const ERL_NIF_TERM changed = with_params(env, old, params);
    pipeline.change(each, decode_stage(env, changed));
    terms_[each] = std::make_shared<const StageTerm>(changed);
  }
  return !indexes.empty();
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
    names_.clear();
  }
  held->rest = pipeline.free();
  if (held->terms.size() > Pipeline::kManyStages) Instance::get().let_go_memory(std::move(held));
}

fine::ResourcePtr<PipelineResource> pipeline_new(ErlNifEnv*) {
  return fine::make_resource<PipelineResource>();
}
FINE_NIF(pipeline_new, 0);

// The stage is kept as it is, for `pipeline_stages`.
OkOrError<> pipeline_add(ErlNifEnv* env, fine::ResourcePtr<PipelineResource> resource, Term stage) {
  return guarded(env, [&] {
    resource->add(env, stage);
    return ok();
  });
}
FINE_NIF(pipeline_add, 0);

// Changes parameters of a stage, which is an index, or of all stages with that name. The other
// parameters stay as they are. `:unknown`: there is no such stage.
Result<fine::Atom> pipeline_set(ErlNifEnv* env, fine::ResourcePtr<PipelineResource> resource,
                                std::variant<uint64_t, std::string> stage, Term params) {
  return guarded(env,
                 [&] { return fine::Atom(resource->set(env, stage, params) ? "ok" : "unknown"); });
}
FINE_NIF(pipeline_set, 0);

OkOrError<uint64_t> pipeline_count(ErlNifEnv* env, fine::ResourcePtr<PipelineResource> resource) {
  return guarded(env, [&] { return ok(uint64_t{resource->pipeline.count()}); });
}
FINE_NIF(pipeline_count, 0);

OkOrError<std::vector<Term>> pipeline_stages(ErlNifEnv* env,
                                             fine::ResourcePtr<PipelineResource> resource) {
  return guarded(env, [&] {
    return ok(each(resource->terms(),
                   [env](const auto& stage) { return Term(enif_make_copy(env, stage->term())); }));
  });
}
FINE_NIF(pipeline_stages, ERL_NIF_DIRTY_JOB_CPU_BOUND);

// The plan of a run: the caller gets `{ref, {:ok, plan} | {:error, e}}`.
OkOrError<> pipeline_explain(ErlNifEnv* env, fine::ResourcePtr<PipelineResource> resource,
                             Term ref) {
  return guarded(env, [&] {
    Engine* current = engine().get();
    const auto message = Message::reply(self(env), ref);
    post_job(message, [resource, current, message] {
      const auto plan = resource->pipeline.plan(*current, Expansion::in_full);
      message->send_value(ok(Explained{plan}));
    });
    return ok();
  });
}
FINE_NIF(pipeline_explain, 0);

fine::Ok<> pipeline_free(ErlNifEnv*, fine::ResourcePtr<PipelineResource> resource) {
  resource->free();
  return ok();
}
FINE_NIF(pipeline_free, 0);

}  // namespace dala::nif
