// Commands: submitted, asked about, waited for by message.
#include "nif/job.hpp"
#include "nif/resources.hpp"
#include "runtime/reservation.hpp"

namespace dala::nif {
namespace {

// How the submitter is told of the outcome: `{:reply, ref}`, `{:notify, pid}` or `:async`.
struct Mode {
  bool reply = false;
  Listener listener;
  std::shared_ptr<Client> client;
};

Mode decode_mode(ErlNifEnv* env, ERL_NIF_TERM term) {
  if (atom_name(env, term) == "async") return {false, nullptr, submitting_client(env, false)};
  const auto [kind, target] = fine::decode<std::tuple<fine::Atom, Term>>(env, term);
  if (kind == "reply") {
    return {true, tell(Message::reply(self(env), target)), waiting_client(env)};
  }
  const auto pid = fine::decode<ErlNifPid>(env, target);
  return {false, tell(Message::notification(pid)),
          submitting_client(env, pid.pid != self(env).pid)};
}

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
                      const std::vector<BufferPtr>& inputs, const BufferPtr& output,
                      const Mode& mode, bool fills = false) {
  const auto stages = engine.stages(kernel, inputs, output, params);
  if (!stages) return submit_unplanned(engine, kernel, params, inputs, output, mode, fills);
  // What the caller named, where a call has become several stages that read it in turn.
  const std::vector<Use> uses =
      stages->size() < 2 ? std::vector<Use>{} : uses_of_call(inputs, output);
  return engine.runtime().scheduler().submit(*stages, mode.client, mode.listener, nullptr, uses,
                                             fills);
}

CommandId submit_copy(Engine& engine, const std::vector<BufferPtr>& inputs, const BufferPtr& output,
                      const Mode& mode) {
  if (inputs.size() != 1) {
    throw Error(Reason::arity_mismatch, text("copy_buffer takes 1 input, got ", inputs.size()));
  }
  return engine.runtime().scheduler().submit({engine.copy_stage(inputs.front(), output)},
                                             mode.client, mode.listener);
}

Term encode_outcome(ErlNifEnv* env, const Scheduler::Outcome& outcome, std::string_view done) {
  switch (outcome.status) {
    case Scheduler::Status::pending:
      return atom(env, "pending");
    case Scheduler::Status::completed:
      return atom(env, done);
    case Scheduler::Status::failed:
      break;
  }
  return error(env, *outcome.error);
}

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

}  // namespace

// A problem with a command that waits for its reply is returned at once, and so is want of memory;
// otherwise the id that comes back is one that has failed.
Term submit(ErlNifEnv* env, fine::Atom op, std::string kernel, Term inputs, Term output,
            Term params, Term mode_term) {
  return guarded(env, [&] {
    const auto current = engine();
    const Mode mode = decode_mode(env, mode_term);
    try {
      const std::vector<BufferPtr> sources = decode_buffers(env, inputs);
      const BufferPtr target = decode_buffer(env, output, "the output");
      const CommandId id =
          op == "copy_buffer"
              ? submit_copy(*current, sources, target, mode)
              : submit_call(*current, kernel, decode_params(env, params), sources, target, mode);
      return ok(env, unsigned_integer(env, id));
    } catch (const Error& problem) {
      // The caller collects garbage and tries again before it makes do with a failure.
      if (mode.reply || problem.reason == Reason::out_of_memory) throw;
      Scheduler& scheduler = current->runtime().scheduler();
      return ok(env, unsigned_integer(env, scheduler.submit_failure(problem, mode.listener)));
    }
  });
}
FINE_NIF(submit, 0);

// Submits a kernel whose output is a new buffer, `{:ok, reference}`. A call that is wrong is an
// error of this function; one that fails later is an error of everything that reads the buffer.
Term compute(ErlNifEnv* env, std::string kernel, Term inputs, Term shape, Term dtype, Term params) {
  return guarded(env, [&] {
    const auto current = engine();
    const TensorType type = decode_type(env, shape, dtype);
    const std::vector<BufferPtr> sources = decode_buffers(env, inputs);
    const BufferPtr target = undefined_buffer(current->runtime(), type);
    const Mode mode{false, nullptr, submitting_client(env, false)};
    submit_call(*current, kernel, decode_params(env, params), sources, target, mode, true);
    return new_buffer(env, target);
  });
}
FINE_NIF(compute, 0);

// A command that has failed before it could be submitted.
Term submit_failure(ErlNifEnv* env, std::string reason, std::string message, Term mode_term) {
  return guarded(env, [&] {
    Scheduler& scheduler = engine()->runtime().scheduler();
    const Error problem(reason_of(reason), message);
    return ok(env, unsigned_integer(env, scheduler.submit_failure(
                                             problem, decode_mode(env, mode_term).listener)));
  });
}
FINE_NIF(submit_failure, 0);

Term commands_pending(ErlNifEnv* env) {
  return guarded(env, [&] { return boolean(env, engine()->runtime().scheduler().pending()); });
}
FINE_NIF(commands_pending, 0);

// Back-pressure, for whoever submits without waiting for results. `:pending`: very many commands
// are queued, and the caller will get `{ref, _}` when it may go on.
Term command_turn(ErlNifEnv* env, Term ref) {
  return guarded(env, [&] {
    Scheduler& scheduler = engine()->runtime().scheduler();
    const bool held =
        scheduler.crowded() && scheduler.hold_back(tell(Message::reply(self(env), ref)));
    return atom(env, held ? "pending" : "ok");
  });
}
FINE_NIF(command_turn, 0);

Term command_poll(ErlNifEnv* env, uint64_t id) {
  return guarded(env, [&] {
    return encode_outcome(env, engine()->runtime().scheduler().poll(id), "completed");
  });
}
FINE_NIF(command_poll, 0);

// While the command is pending, the caller will get `{ref, :ok | {:error, e}}`.
Term command_watch(ErlNifEnv* env, uint64_t id, Term ref) {
  return guarded(env, [&] {
    const auto outcome = engine()->runtime().scheduler().watch(
        id, token_of(ref), tell(Message::reply(self(env), ref)), self(env).pid);
    return encode_outcome(env, outcome, "ok");
  });
}
FINE_NIF(command_watch, 0);

// The same for a reader of what the command writes, see Scheduler::watch_end.
Term command_watch_end(ErlNifEnv* env, uint64_t id, Term ref) {
  return guarded(env, [&] {
    const auto outcome =
        engine()->runtime().scheduler().watch_end(id, tell(Message::reply(self(env), ref)));
    return encode_outcome(env, outcome, "ok");
  });
}
FINE_NIF(command_watch_end, 0);

// False: too late, the message is there or on its way.
Term command_unwatch(ErlNifEnv* env, uint64_t id, Term ref) {
  return guarded(env, [&] {
    return boolean(env, engine()->runtime().scheduler().unwatch(id, token_of(ref)));
  });
}
FINE_NIF(command_unwatch, 0);

// :ok, :started, :ended or :unknown.
Term command_cancel(ErlNifEnv* env, uint64_t id) {
  return guarded(env, [&] {
    switch (engine()->runtime().scheduler().cancel(id)) {
      case Scheduler::Cancelled::yes:
        return atom(env, "ok");
      case Scheduler::Cancelled::started:
        return atom(env, "started");
      case Scheduler::Cancelled::ended:
        return atom(env, "ended");
      case Scheduler::Cancelled::unknown:
        break;
    }
    return atom(env, "unknown");
  });
}
FINE_NIF(command_cancel, 0);

// The process did not end by itself: what it submitted and has not started is dropped, except for
// commands that other processes listen to. `{:more, id}`: to be called again, with that id; the
// first time with 0.
Term client_killed(ErlNifEnv* env, ErlNifPid pid, uint64_t from) {
  return guarded(env, [&] {
    const CommandId next = engine()->runtime().scheduler().drop_client(pid.pid, from);
    if (next == 0) return atom(env, "ok");
    return tuple(env, {atom(env, "more"), unsigned_integer(env, next)});
  });
}
FINE_NIF(client_killed, 0);

}  // namespace dala::nif
