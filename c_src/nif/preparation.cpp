#include "nif/preparation.hpp"

#include "nif/instance.hpp"

namespace dala::nif {

Term prepare(ErlNifEnv* env, const NotReady& missing) {
  const ERL_NIF_TERM ref = enif_make_ref(env);
  const auto message = Message::reply(self(env), ref);
  Instance::get().post_model(
      [message, job = missing.prepare] { answer(*message, [&] { job(); }); });
  return tuple(env, {atom(env, "wait"), ref});
}

}  // namespace dala::nif
