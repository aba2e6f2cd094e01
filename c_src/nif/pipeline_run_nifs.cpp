// Runs of pipelines: waited for, submitted, or called as a function of buffers.
#include <optional>
#include <utility>

#include "nif/mode.hpp"
#include "nif/resource/pipeline.hpp"

namespace dala::nif {
namespace {

using plan::Pipeline;
using plan::PipelinePlan;
using plan::Plan;

// All runs of a call are one command.
struct Run {
  uint64_t times = 1;
  Plan::Swaps swaps;
  Listener listener;
  std::shared_ptr<Client> client;
  std::shared_ptr<Profile> profile;

  CommandId submit(Runtime& runtime, const PipelinePlan& plan) const {
    Scheduler& scheduler = runtime.scheduler();
    try {
      if (times == 1 && swaps.empty()) {
        return scheduler.submit(plan.bind(runtime), client, listener, profile, plan.uses());
      }
      const PipelinePlan::Runs runs = plan.bind(runtime, times, swaps);
      return scheduler.submit_rounds(runs.stages, runs.repetition, client, listener, profile,
                                     plan.uses());
    } catch (const Error& problem) {
      throw Pipeline::submission_error(problem);
    }
  }
};

using Swaps = Given<std::vector<std::pair<BufferPtr, BufferPtr>>>;

// Submits the run, on another thread where planning or submitting takes long; gives its id, or none
// where `done` will be told. `message` gets the error of a run that cannot be submitted then.
template <typename Done>
std::optional<CommandId> start(const fine::ResourcePtr<PipelineResource>& resource, Run run,
                               const std::shared_ptr<Message>& message, Done done) {
  // Jobs hold no reference to the engine, which goes only after their threads.
  Engine* current = engine().get();
  const Pipeline::PlanPtr plan = resource->pipeline.plan(*current, Expansion::at_once);
  if (plan != nullptr && plan->nodes().size() <= Scheduler::kLengthy) {
    return run.submit(current->runtime(), *plan);
  }
  if (plan != nullptr) {
    current->runtime().scheduler().post_lengthy([current, run, message, plan, done] {
      run_job(*message, [&] { done(run.submit(current->runtime(), *plan)); });
    });
  } else {
    post_job(message, [current, run, resource, done] {
      done(run.submit(current->runtime(), *resource->pipeline.plan(*current, Expansion::in_full)));
    });
  }
  return std::nullopt;
}

}  // namespace

// Runs the stages `times` times, as one command; the caller gets `{ref, :ok | {:error, e}}`.
// Between runs the buffers of each pair in `swaps` exchange their contents. What the stages did is
// counted in `profile`, unless that is nil. Where planning or submitting takes long, it happens on
// another thread: then the id is 0, and a problem comes as the message.
OkOrError<CommandId> pipeline_run(ErlNifEnv* env, fine::ResourcePtr<PipelineResource> resource,
                                  uint64_t times, Swaps swaps, Term ref,
                                  std::optional<fine::ResourcePtr<ProfileResource>> profile) {
  return guarded(env, [&] {
    const auto message = Message::reply(self(env), ref);
    const Run run{times, *swaps, tell(message), waiting_client(env),
                  profile ? (*profile)->profile : nullptr};
    return ok(start(resource, run, message, [](CommandId) {}).value_or(0));
  });
}
FINE_NIF(pipeline_run, 0);

// The same without waiting for the end: gives the id of the command. `:pending`: planning or
// submitting takes long, and the caller gets `{ref, {:ok, id} | {:error, e}}`.
Result<std::variant<fine::Ok<CommandId>, fine::Atom>> pipeline_submit(
    ErlNifEnv* env, fine::ResourcePtr<PipelineResource> resource, uint64_t times, Swaps swaps,
    Mode mode, Term ref) {
  using Submitted = std::variant<fine::Ok<CommandId>, fine::Atom>;
  return guarded(env, [&] {
    const auto message = Message::reply(self(env), ref);
    const Run run{times, *swaps, mode.listener, mode.client, nullptr};
    const auto id = start(resource, run, message,
                          [message](CommandId entered) { message->send_value(ok(entered)); });
    return id ? Submitted(ok(*id)) : Submitted(fine::Atom("pending"));
  });
}
FINE_NIF(pipeline_submit, 0);

// Makes the pipeline a function: each call puts buffers in the place of `inputs`, and new buffers
// in the place of `outputs`, which are temporary buffers of its stages.
OkOrError<> pipeline_ports(ErlNifEnv* env, fine::ResourcePtr<PipelineResource> resource,
                           Given<Inputs> inputs, Given<Inputs> outputs) {
  return guarded(env, [&] {
    resource->pipeline.set_ports({inputs->buffers, outputs->buffers});
    return ok();
  });
}
FINE_NIF(pipeline_ports, 0);

namespace {

using Called = std::variant<fine::Ok<std::vector<BufferPtr>>, fine::Atom>;

Result<Called> call(ErlNifEnv* env, PipelineResource& resource, Expansion expansion,
                    const Given<Inputs>& inputs) {
  return guarded(env, [&]() -> Called {
    const auto current = engine();
    const Pipeline::PlanPtr plan = resource.pipeline.plan(*current, expansion);
    if (plan == nullptr ||
        (expansion == Expansion::at_once && plan->nodes().size() > Scheduler::kLengthy)) {
      return fine::Atom("lengthy");
    }
    Runtime& runtime = current->runtime();
    const PipelinePlan::Called called = plan->call(runtime, inputs->buffers);
    runtime.scheduler().submit(called.stages, submitting_client(env, false), nullptr, nullptr,
                               called.uses, true);
    return ok(called.outputs);
  });
}

}  // namespace

// Submits the stages as one command with these inputs, and returns the outputs. If the command
// fails later, reading an output is its error, as for `compute`. `:lengthy`: planning or submitting
// takes long, so the dirty function below has to be called.
Result<Called> pipeline_call(ErlNifEnv* env, fine::ResourcePtr<PipelineResource> pipeline,
                             Given<Inputs> inputs) {
  return call(env, *pipeline, Expansion::at_once, inputs);
}
FINE_NIF(pipeline_call, 0);

// The same for pipelines of many stages, and for the first call, which plans.
Result<Called> pipeline_call_dirty(ErlNifEnv* env, fine::ResourcePtr<PipelineResource> pipeline,
                                   Given<Inputs> inputs) {
  return call(env, *pipeline, Expansion::in_full, inputs);
}
FINE_NIF(pipeline_call_dirty, ERL_NIF_DIRTY_JOB_CPU_BOUND);

}  // namespace dala::nif
