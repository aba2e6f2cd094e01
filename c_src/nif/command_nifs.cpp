// Commands: submitted, asked about, waited for by message.
#include "nif/mode.hpp"
#include "runtime/schedule/reservation.hpp"

namespace dala::nif {
namespace {

// A call of what takes long to plan. The command has its place in the order from now on; its stages
// are worked out on the threads for models. The job holds no reference to the engine, which goes
// only after these threads.
CommandId submit_unplanned(Engine& engine, const std::string& kernel, const Params& params,
                           const std::vector<BufferPtr>& inputs, const BufferPtr& output,
                           const Mode& mode, bool fills) {
  Scheduler& scheduler = engine.runtime().scheduler();
  const auto reservation = scheduler.reserve(inputs, output, mode.client, mode.listener, fills);
  try {
    Instance::get().post_model(
        [&engine, reservation, kernel, params] { engine.complete(*reservation, kernel, params); });
  } catch (...) {
    reservation->fail(current_error());
  }
  return reservation->id();
}

CommandId submit_call(Engine& engine, const std::string& kernel, const Params& params,
                      const std::vector<BufferPtr>& inputs, const Outputs& outputs,
                      const Mode& mode, bool fills = false) {
  const BufferPtr& output = outputs.first;
  const auto stages =
      engine.stages(kernel, inputs, output, params, Expansion::at_once, outputs.more);
  if (!stages) return submit_unplanned(engine, kernel, params, inputs, output, mode, fills);
  // A call that has become several stages is checked by the buffers that the caller named.
  const std::vector<Use> uses =
      stages->size() < 2 ? std::vector<Use>{} : uses_of_call(inputs, output);
  return engine.runtime().scheduler().submit(*stages, mode.client, mode.listener, nullptr, uses,
                                             fills);
}

CommandId submit_copy(Engine& engine, const std::vector<BufferPtr>& inputs, const Outputs& outputs,
                      const Mode& mode) {
  check_copy(inputs, outputs);
  return engine.runtime().scheduler().submit({engine.copy_stage(inputs.front(), outputs.first)},
                                             mode.client, mode.listener);
}

// `:pending`, `done`, or the command's error.
Result<fine::Atom> outcome_of(const Scheduler::Outcome& outcome, const char* done) {
  if (outcome.status == Scheduler::Status::failed) {
    return std::make_shared<const Error>(*outcome.error);
  }
  return fine::Atom(outcome.status == Scheduler::Status::pending ? "pending" : done);
}

// `:pending` while something is to be waited for, or `:ok`.
fine::Atom pending_or_ok(bool pending) { return fine::Atom(pending ? "pending" : "ok"); }

// References are unique, and so is this for all practical purposes.
Token token_of(ERL_NIF_TERM ref) {
  return (static_cast<Token>(enif_hash(ERL_NIF_INTERNAL_HASH, ref, 1)) << 32) ^
         enif_hash(ERL_NIF_INTERNAL_HASH, ref, 2);
}

Reason reason_of(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(Reason::unsupported_op); ++i) {
    if (name == to_string(static_cast<Reason>(i))) return static_cast<Reason>(i);
  }
  return Reason::device_error;
}

// Of an error: integers and texts.
Details details_of(const Params& params) {
  Details details;
  for (const auto& [name, value] : params) {
    if (const auto* number = std::get_if<int64_t>(&value)) details.emplace_back(name, *number);
    if (const auto* words = std::get_if<std::string>(&value)) details.emplace_back(name, *words);
  }
  return details;
}

}  // namespace

// A problem with a command that waits for its reply is returned at once, and so is want of memory;
// otherwise the id that comes back is one that has failed.
OkOrError<CommandId> submit(ErlNifEnv* env, fine::Atom op, std::string kernel, Given<Inputs> inputs,
                            Given<Outputs> outputs, Given<Params> params, Mode mode) {
  return guarded(env, [&] {
    const auto current = engine();
    try {
      return ok(op == "copy_buffer"
                    ? submit_copy(*current, inputs->buffers, *outputs, mode)
                    : submit_call(*current, kernel, *params, inputs->buffers, *outputs, mode));
    } catch (const Error& problem) {
      // The caller collects garbage and tries again before it makes do with a failure.
      if (mode.reply || problem.reason == Reason::out_of_memory) throw;
      return ok(current->runtime().scheduler().submit_failure(problem, mode.listener));
    }
  });
}
FINE_NIF(submit, 0);

// Submits a kernel whose output is a new buffer, `{:ok, reference}`. A call that is wrong is an
// error of this function; one that fails later is an error of everything that reads the buffer.
OkOrError<BufferPtr> compute(ErlNifEnv* env, std::string kernel, Given<Inputs> inputs,
                             Given<Dims> shape, DType dtype, Given<Params> params) {
  return guarded(env, [&] {
    const auto current = engine();
    const BufferPtr target = undefined_buffer(current->runtime(), type_of(shape, dtype));
    const Mode mode{false, nullptr, submitting_client(env, false)};
    submit_call(*current, kernel, *params, inputs->buffers, {target, {}}, mode, true);
    return ok(target);
  });
}
FINE_NIF(compute, 0);

// A command that has failed before it could be submitted.
OkOrError<CommandId> submit_failure(ErlNifEnv* env, std::string reason, std::string message,
                                    Given<Params> details, Mode mode) {
  return guarded(env, [&] {
    const Error problem(reason_of(reason), message, details_of(*details));
    return ok(scheduler().submit_failure(problem, mode.listener));
  });
}
FINE_NIF(submit_failure, 0);

Result<bool> commands_pending(ErlNifEnv* env) {
  return guarded(env, [&] { return scheduler().pending(); });
}
FINE_NIF(commands_pending, 0);

// Back-pressure for processes that submit without waiting for results. `:pending`: very many
// commands are queued, and the caller will get `{ref, _}` when it may go on.
Result<fine::Atom> command_turn(ErlNifEnv* env, Term ref) {
  return guarded(env, [&] {
    Scheduler& own = scheduler();
    return pending_or_ok(own.crowded() && own.hold_back(tell(Message::reply(self(env), ref))));
  });
}
FINE_NIF(command_turn, 0);

Result<fine::Atom> command_poll(ErlNifEnv* env, uint64_t id) {
  return flat(guarded(env, [&] { return outcome_of(scheduler().poll(id), "completed"); }));
}
FINE_NIF(command_poll, 0);

// While the command is pending, the caller will get `{ref, :ok | {:error, e}}`.
Result<fine::Atom> command_watch(ErlNifEnv* env, uint64_t id, Term ref) {
  return flat(guarded(env, [&] {
    return outcome_of(
        scheduler().watch(id, token_of(ref), tell(Message::reply(self(env), ref)), self(env).pid),
        "ok");
  }));
}
FINE_NIF(command_watch, 0);

// The same for a reader of what the command writes, see Scheduler::watch_end.
Result<fine::Atom> command_watch_end(ErlNifEnv* env, uint64_t id, Term ref) {
  return flat(guarded(env, [&] {
    return outcome_of(scheduler().watch_end(id, tell(Message::reply(self(env), ref))), "ok");
  }));
}
FINE_NIF(command_watch_end, 0);

// False: too late, the message is there or on its way.
Result<bool> command_unwatch(ErlNifEnv* env, uint64_t id, Term ref) {
  return guarded(env, [&] { return scheduler().unwatch(id, token_of(ref)); });
}
FINE_NIF(command_unwatch, 0);

// :ok, :started, :ended or :unknown.
Result<fine::Atom> command_cancel(ErlNifEnv* env, uint64_t id) {
  return guarded(env, [&] {
    switch (scheduler().cancel(id)) {
      case Scheduler::Cancelled::yes:
        return fine::Atom("ok");
      case Scheduler::Cancelled::started:
        return fine::Atom("started");
      case Scheduler::Cancelled::ended:
        return fine::Atom("ended");
      case Scheduler::Cancelled::unknown:
        break;
    }
    return fine::Atom("unknown");
  });
}
FINE_NIF(command_cancel, 0);

// The process did not end by itself: commands that it submitted and that have not started are
// dropped, except for those that other processes listen to. `{:more, id}`: to be called again, with
// that id; the first time with 0.
Result<std::variant<fine::Ok<>, std::tuple<fine::Atom, uint64_t>>> client_killed(ErlNifEnv* env,
                                                                                 ErlNifPid pid,
                                                                                 uint64_t from) {
  using Killed = std::variant<fine::Ok<>, std::tuple<fine::Atom, uint64_t>>;
  return guarded(env, [&] {
    const CommandId next = scheduler().drop_client(pid.pid, from);
    return next == 0 ? Killed(ok()) : Killed(std::tuple(fine::Atom("more"), next));
  });
}
FINE_NIF(client_killed, 0);

}  // namespace dala::nif
