// Commands: submitted, asked about, waited for by message.
#include "nif/preparation.hpp"
#include "nif/resources.hpp"

namespace dala::nif {
namespace {

Listener tell(std::shared_ptr<Message> message) {
  return [message = std::move(message)](CommandId id, const Error* error) {
    message->send_result(id, error);
  };
}

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

// What the caller named, where a call has become several stages that read it in turn.
std::vector<Use> uses_of(const std::vector<Stage>& stages, const std::vector<BufferPtr>& inputs,
                         const BufferPtr& output) {
  if (stages.size() < 2) return {};
  std::vector<Use> uses;
  for (const BufferPtr& input : inputs) uses.push_back({input, -1, static_cast<int>(uses.size())});
  uses.push_back({output, -1, -1});
  for (const Use& use : uses) {
    if (!use.buffer->temporary()) continue;
    throw temporary_error(use.input < 0 ? "the output" : text("input ", use.input));
  }
  return uses;
}

Term full(ErlNifEnv* env, CommandId id) {
  return tuple(env, {atom(env, "full"), unsigned_integer(env, id)});
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
// otherwise the id that comes back is one that has failed. `{:wait, ref}` is to be tried again, see
// `when_ready`.
Term submit(ErlNifEnv* env, fine::Atom op, std::string kernel, Term inputs, Term output,
            Term params, Term mode_term) {
  return when_ready(env, [&] {
    const auto current = engine();
    Scheduler& scheduler = current->runtime().scheduler();
    const Mode mode = decode_mode(env, mode_term);
    if (const auto id = scheduler.backlog()) return full(env, *id);
    try {
      const std::vector<BufferPtr> sources = decode_buffers(env, inputs);
      const BufferPtr target = decode_buffer(env, output, "the output");
      std::vector<Stage> stages;
      if (op == "copy_buffer") {
        if (sources.size() != 1) {
          throw Error(Reason::arity_mismatch,
                      text("copy_buffer takes 1 input, got ", sources.size()));
        }
        stages.push_back(current->copy_stage(sources.front(), target));
      } else {
        stages = current->stages(kernel, sources, target, decode_params(env, params));
      }
      const CommandId id = scheduler.submit(stages, mode.client, mode.listener, nullptr,
                                            uses_of(stages, sources, target));
      return ok(env, unsigned_integer(env, id));
    } catch (const Error& problem) {
      // The caller collects garbage and tries again before it makes do with a failure.
      if (mode.reply || problem.reason == Reason::out_of_memory) throw;
      return ok(env, unsigned_integer(env, scheduler.submit_failure(problem, mode.listener)));
    }
  });
}
FINE_NIF(submit, 0);

// Submits a kernel whose output is a new buffer, `{:ok, reference}`. A call that is wrong is an
// error of this function; one that fails later is an error of everything that reads the buffer.
Term compute(ErlNifEnv* env, std::string kernel, Term inputs, Term shape, Term dtype, Term params) {
  return when_ready(env, [&] {
    const auto current = engine();
    Scheduler& scheduler = current->runtime().scheduler();
    if (const auto id = scheduler.backlog()) return full(env, *id);
    const TensorType type = decode_type(env, shape, dtype);
    const std::vector<BufferPtr> sources = decode_buffers(env, inputs);
    const BufferPtr target = undefined_buffer(current->runtime(), type);
    const std::vector<Stage> stages =
        current->stages(kernel, sources, target, decode_params(env, params));
    scheduler.submit(stages, submitting_client(env, false), nullptr, nullptr,
                     uses_of(stages, sources, target), true);
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
