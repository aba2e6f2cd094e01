// Warming up: minutes of work on a thread, told step by step.
#include "kernels/warm_up.hpp"
#include "nif/codec/codec.hpp"
#include "nif/instance.hpp"

namespace dala::nif {

// `names` are those of the kernels to get ready, or `nil` for all. The caller gets `{ref, {:step,
// done, total, kernel, dtype}}` again and again, and at the end
// `{ref, :ok | {:error, e}}`.
OkOrError<> warm_up(ErlNifEnv* env, std::vector<DType> dtypes,
                    std::optional<std::vector<std::string>> names, Term ref) {
  return guarded(env, [&] {
    const auto current = engine();
    std::optional<std::set<std::string>> kernels;
    if (names) kernels.emplace(names->begin(), names->end());
    const ErlNifPid caller = self(env);
    const auto last = Message::reply(caller, ref);
    // Every message has its own environment; this one lends its copy of the reference.
    Instance::get().post([current, dtypes, kernels, caller, last] {
      answer(*last, [&] {
        dala::warm_up(*current, dtypes, kernels, [&](const WarmUpStep& step) {
          Message::reply(caller, last->ref())
              ->send_value(std::tuple(fine::Atom("step"), uint64_t{step.done}, uint64_t{step.total},
                                      std::string(step.kernel), step.dtype));
        });
      });
    });
    return ok();
  });
}
FINE_NIF(warm_up, 0);

}  // namespace dala::nif
