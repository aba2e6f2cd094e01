#include "nif/boundary.hpp"

#include "nif/codec/codec.hpp"

namespace dala::nif {
namespace {

thread_local ErlNifEnv* t_env = nullptr;

}  // namespace

ErlNifEnv* calling_env() { return t_env; }

Caller::Caller(ErlNifEnv* env) { t_env = env; }
Caller::~Caller() { t_env = nullptr; }

Term atom(ErlNifEnv* env, std::string_view name) {
  return enif_make_atom_len(env, name.data(), name.size());
}

Term string(ErlNifEnv* env, std::string_view text) {
  return fine::make_new_binary(env, text.data(), text.size());
}

Term tuple(ErlNifEnv* env, std::initializer_list<Term> items) {
  const std::vector<ERL_NIF_TERM> terms(items.begin(), items.end());
  return enif_make_tuple_from_array(env, terms.data(), static_cast<unsigned>(terms.size()));
}

std::string shown(ErlNifEnv* env, ERL_NIF_TERM term) {
  ErlNifSInt64 small = 0;
  ErlNifUInt64 large = 0;
  ErlNifBinary binary;
  switch (enif_term_type(env, term)) {
    case ERL_NIF_TERM_TYPE_INTEGER:
      if (enif_get_int64(env, term, &small) == 0 && enif_get_uint64(env, term, &large) == 0) {
        return "an integer beyond 64 bits";
      }
      break;
    case ERL_NIF_TERM_TYPE_LIST:
      return enif_is_empty_list(env, term) != 0 ? "[]" : "a list";
    case ERL_NIF_TERM_TYPE_TUPLE:
      return "a tuple";
    case ERL_NIF_TERM_TYPE_MAP:
      return "a map";
    case ERL_NIF_TERM_TYPE_BITSTRING:
      if (enif_inspect_binary(env, term, &binary) == 0) return "a bitstring";
      if (binary.size > 100) return text("a binary of ", binary.size, " bytes");
      break;
    default:
      break;
  }
  return fine::format_term(env, term);
}

std::string atom_name(ErlNifEnv* env, ERL_NIF_TERM term) {
  char name[256 * 4];
  const int length = enif_get_atom(env, term, name, sizeof(name), ERL_NIF_LATIN1);
  return length > 0 ? std::string(name, static_cast<size_t>(length) - 1) : "";
}

Message::Message(ErlNifPid pid) : pid_(pid), env_(enif_alloc_env()) {}

Message::~Message() { enif_free_env(env_); }

std::shared_ptr<Message> Message::reply(ErlNifPid pid, ERL_NIF_TERM ref) {
  std::shared_ptr<Message> message(new Message(pid));
  message->ref_ = enif_make_copy(message->env_, ref);
  message->has_ref_ = true;
  return message;
}

std::shared_ptr<Message> Message::tagged(ErlNifPid pid, std::string_view tag) {
  std::shared_ptr<Message> message(new Message(pid));
  message->ref_ = atom(message->env_, tag);
  message->has_ref_ = true;
  return message;
}

std::shared_ptr<Message> Message::lost(ErlNifPid pid) { return tagged(pid, "dala_gpu_lost"); }

std::shared_ptr<Message> Message::note(ErlNifPid pid) { return tagged(pid, "dala_gpu_note"); }

std::shared_ptr<Message> Message::notification(ErlNifPid pid) {
  return std::shared_ptr<Message>(new Message(pid));
}

void Message::send(Term result) { deliver(tuple(env_, {ref_, result})); }

void Message::deliver(Term content) {
  State unsent = State::unsent;
  if (!state_.compare_exchange_strong(unsent, State::sending)) return;
  // The receiver may have ended; then the message is dropped.
  enif_send(calling_env(), &pid_, env_, content);
  state_.store(State::sent);
}

Message::State Message::revoke() {
  State state = State::unsent;
  return state_.compare_exchange_strong(state, State::revoked) ? State::revoked : state;
}

void Message::send_result(uint64_t id, const Error* problem) {
  const Term result = problem == nullptr
                          ? atom(env_, "ok")
                          : Term(fine::encode(env_, fine::Error<dala::Error>(*problem)));
  if (has_ref_) {
    send(result);
    return;
  }
  deliver(tuple(env_, {atom(env_, "dala_gpu"), enif_make_uint64(env_, id), result}));
}

ErlNifPid self(ErlNifEnv* env) {
  ErlNifPid pid;
  enif_self(env, &pid);
  return pid;
}

}  // namespace dala::nif
