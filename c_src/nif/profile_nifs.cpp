// Profiles: of everything the device does, or of the commands that name one; read at any time.
#include "nif/resource/resources.hpp"

namespace dala::nif {

// A kernel with its name.
struct NamedProfile {
  std::string name;
  KernelProfile kernel;
};

}  // namespace dala::nif

template <>
struct fine::Encoder<dala::nif::NamedProfile> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const dala::nif::NamedProfile& each) {
    using dala::nif::Number;
    const dala::KernelProfile& kernel = each.kernel;
    return dala::nif::fields(env, "name", each.name, "count", uint64_t{kernel.count}, "device_ns",
                             Number{kernel.device_ns}, "queue_ns", Number{kernel.queue_ns}, "bytes",
                             Number{kernel.bytes}, "operations", Number{kernel.operations});
  }
};

namespace dala::nif {

OkOrError<fine::ResourcePtr<ProfileResource>> profile_start(ErlNifEnv* env) {
  return guarded(env, [&] {
    auto profile = engine()->runtime().scheduler().start_profile();
    return ok(fine::make_resource<ProfileResource>(std::move(profile)));
  });
}
FINE_NIF(profile_start, 0);

// One that counts only commands which were submitted with it.
fine::ResourcePtr<ProfileResource> profile_new(ErlNifEnv*) {
  return fine::make_resource<ProfileResource>(std::make_shared<Profile>());
}
FINE_NIF(profile_new, 0);

OkOrError<std::vector<NamedProfile>> profile_read(ErlNifEnv* env,
                                                  fine::ResourcePtr<ProfileResource> resource) {
  return guarded(env, [&] {
    const std::shared_ptr<Profile> profile = resource->profile;
    if (profile == nullptr) throw Error(Reason::freed, "the profile is over");
    return ok(each(profile->kernels(), [](const auto& entry) {
      return NamedProfile{entry.first, entry.second};
    }));
  });
}
FINE_NIF(profile_read, ERL_NIF_DIRTY_JOB_CPU_BOUND);

// The same, and the end of the profile.
OkOrError<std::vector<NamedProfile>> profile_stop(ErlNifEnv* env,
                                                  fine::ResourcePtr<ProfileResource> resource) {
  auto result = profile_read(env, resource);
  resource->profile = nullptr;
  return result;
}
FINE_NIF(profile_stop, ERL_NIF_DIRTY_JOB_CPU_BOUND);

}  // namespace dala::nif
