// Warming up: minutes of work on a thread, told step by step.
#include "kernels/warm_up.hpp"
#include "nif/boundary.hpp"
#include "nif/instance.hpp"

namespace dala::nif {

// `names` are those of the kernels to get ready, or `nil` for all. The caller gets `{ref, {:step,
// done, total, kernel, dtype}}` again and again, and at the end
// `{ref, :ok | {:error, e}}`.
Term warm_up(ErlNifEnv* env, Term dtype_terms, std::optional<std::vector<std::string>> names,
             Term ref) {
  return guarded(env, [&] {
    const auto current = engine();
    std::vector<DType> dtypes;
    for (const Term& term : fine::decode<std::vector<Term>>(env, dtype_terms)) {
      dtypes.push_back(decode_dtype(env, term));
    }
    std::optional<std::set<std::string>> kernels;
    if (names) kernels.emplace(names->begin(), names->end());
    const ErlNifPid caller = self(env);
    const auto last = Message::reply(caller, ref);
    // Every message has its own environment; this one lends its copy of the reference.
    Instance::get().post([current, dtypes, kernels, caller, last] {
      answer(*last, [&] {
        dala::warm_up(*current, dtypes, kernels, [&](const WarmUpStep& step) {
          const auto message = Message::reply(caller, last->ref());
          ErlNifEnv* own = message->env();
          message->send(tuple(own, {atom(own, "step"), unsigned_integer(own, step.done),
                                    unsigned_integer(own, step.total), string(own, step.kernel),
                                    atom(own, to_string(step.dtype))}));
        });
      });
    });
    return atom(env, "ok");
  });
}
FINE_NIF(warm_up, 0);

}  // namespace dala::nif
