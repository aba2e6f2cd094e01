// Profiles: started, and read once they are over.
#include "nif/resources.hpp"

namespace dala::nif {

Term profile_start(ErlNifEnv* env) {
  return guarded(env, [&] {
    auto profile = engine()->runtime().scheduler().start_profile();
    return ok(env, fine::encode(env, fine::make_resource<ProfileResource>(std::move(profile))));
  });
}
FINE_NIF(profile_start, 0);

// What the device did since; the profile ends with this.
Term profile_stop(ErlNifEnv* env, fine::ResourcePtr<ProfileResource> resource) {
  return guarded(env, [&] {
    const std::shared_ptr<Profile> profile = std::exchange(resource->profile, nullptr);
    if (profile == nullptr) throw Error(Reason::freed, "the profile is over");
    std::vector<Term> items;
    for (const auto& [name, kernel] : profile->kernels()) {
      items.push_back(map(env, {{"name", string(env, name)},
                                {"count", unsigned_integer(env, kernel.count)},
                                {"device_ns", number(env, kernel.device_ns)},
                                {"queue_ns", number(env, kernel.queue_ns)},
                                {"bytes", number(env, kernel.bytes)},
                                {"operations", number(env, kernel.operations)}}));
    }
    return ok(env, list(env, items));
  });
}
FINE_NIF(profile_stop, 0);

}  // namespace dala::nif
