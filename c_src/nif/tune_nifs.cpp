// Tuning: minutes of work on a thread, told step by step.
#include <algorithm>

#include "kernels/tuning/search.hpp"
#include "nif/codec/codec.hpp"
#include "nif/instance.hpp"

namespace dala::nif {
namespace {

constexpr uint64_t kLongestSearch = 86'400'000;  // milliseconds

}  // namespace

// The caller gets `{ref, {:step, done, total, class}}` before each shape class, `{ref, {:result,
// class, call, {before, before_us, after, after_us}, {tried, rejected}}}` for each one at the end,
// and then `{ref, :ok | {:error, e}}`.
OkOrError<> tune(ErlNifEnv* env, uint64_t limit_ms, Term ref) {
  return guarded(env, [&] {
    const auto current = engine();
    const ErlNifPid caller = self(env);
    const std::chrono::milliseconds limit(std::min(limit_ms, kLongestSearch));
    const auto last = Message::reply(caller, ref);
    Instance::get().post_tuning([current, limit, caller, last] {
      answer(*last, [&] {
        const auto send = [&](const auto& value) {
          Message::reply(caller, last->ref())->send_value(value);
        };
        const auto results = dala::tune(
            *current, limit,
            [&](const TuneStep& step) {
              send(std::tuple(fine::Atom("step"), uint64_t{step.done}, uint64_t{step.total},
                              std::string(step.name)));
            },
            [] { return Instance::get().stopping(); });
        for (const TuneResult& each : results) {
          send(std::tuple(fine::Atom("result"), std::string(to_string(each.shape_class)), each.call,
                          std::tuple(describe(each.shape_class, each.before), each.before_us,
                                     describe(each.shape_class, each.after), each.after_us),
                          std::tuple(uint64_t{each.tried}, uint64_t{each.rejected})));
        }
      });
    });
    return ok();
  });
}
FINE_NIF(tune, 0);

// Whether the device uses the GPU family and no search was finished on it.
Result<bool> untuned(ErlNifEnv* env) {
  return guarded(env, [&] {
    const Device& device = engine()->runtime().device();
    return device.device_class() == DeviceClass::gpu && winners_of(device.info()).empty();
  });
}
FINE_NIF(untuned, 0);

}  // namespace dala::nif
