// Profiles: of everything the device does, or of the commands that name one; read at any time.
#include "nif/resources.hpp"

namespace dala::nif {

Term profile_start(ErlNifEnv* env) {
  return guarded(env, [&] {
    auto profile = engine()->runtime().scheduler().start_profile();
    return ok(env, fine::encode(env, fine::make_resource<ProfileResource>(std::move(profile))));
  });
}
FINE_NIF(profile_start, 0);

// One that counts only commands which were submitted with it.
Term profile_new(ErlNifEnv* env) {
  return fine::encode(env, fine::make_resource<ProfileResource>(std::make_shared<Profile>()));
}
FINE_NIF(profile_new, 0);

Term profile_read(ErlNifEnv* env, fine::ResourcePtr<ProfileResource> resource) {
  return guarded(env, [&] {
    const std::shared_ptr<Profile> profile = resource->profile;
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
FINE_NIF(profile_read, ERL_NIF_DIRTY_JOB_CPU_BOUND);

// What the device did since; the profile ends with this.
Term profile_stop(ErlNifEnv* env, fine::ResourcePtr<ProfileResource> resource) {
  const Term result = profile_read(env, resource);
  resource->profile = nullptr;
  return result;
}
FINE_NIF(profile_stop, ERL_NIF_DIRTY_JOB_CPU_BOUND);

}  // namespace dala::nif
