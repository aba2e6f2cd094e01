#include "nif/mode.hpp"

namespace fine {

using namespace dala::nif;

Mode Decoder<Mode>::decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
  if (atom_name(env, term) == "async") return {false, nullptr, submitting_client(env, false)};
  const auto [kind, target] = fine::decode<std::tuple<fine::Atom, Term>>(env, term);
  if (kind == "reply") {
    return {true, tell(Message::reply(self(env), target)), waiting_client(env)};
  }
  const auto pid = fine::decode<ErlNifPid>(env, target);
  return {false, tell(Message::notification(pid)),
          submitting_client(env, pid.pid != self(env).pid)};
}

}  // namespace fine
