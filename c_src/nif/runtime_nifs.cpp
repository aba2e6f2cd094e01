// Starting the runtime, and what there is to know about it.
#include "nif/codec/codec.hpp"
#include "nif/instance.hpp"
#include "runtime/process/process_setup.hpp"
#include "runtime/process/signals.hpp"

namespace dala::nif {
namespace {

// Other mistakes in the environment are reported when the runtime starts.
Config with_cache_dir(const Config& config) {
  try {
    return with_environment(config);
  } catch (const Error&) {
    return config;
  }
}

// The device that is used, the reason, and where compiled kernels are kept.
struct Running {
  std::shared_ptr<Engine> engine;
};

}  // namespace
}  // namespace dala::nif

namespace fine {

using namespace dala::nif;

template <>
struct Decoder<dala::Config> {
  static dala::Config decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
    const Options options(env, term, "the configuration");
    dala::Config config;
    options.read("device", config.device);
    options.read("device_class", config.device_class);
    options.read("matmul", config.matmul);
    options.read("cache_dir", config.cache_dir);
    options.read("zero_copy", config.zero_copy);
    options.read("pin_threads", config.pin_threads);
    options.read("executor", config.executor);
    options.read("fusion", config.fusion);
    config.memory_limit = options.get<uint64_t>("memory_limit");
    config.cache_limit = options.get<uint64_t>("cache_limit");
    config.kernel_timeout = options.get<uint64_t>("kernel_timeout");
    config.build_timeout = options.get<uint64_t>("build_timeout");
    return config;
  }
};

template <>
struct Encoder<dala::DeviceInfo> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const dala::DeviceInfo& info) {
    return fields(env, "name", info.name, "vendor", info.vendor, "version", info.version, "driver",
                  info.driver, "platform", info.platform_name, "type", to_atom(info.type),
                  "compute_units", uint64_t{info.compute_units}, "global_memory",
                  uint64_t{info.global_memory}, "max_allocation", uint64_t{info.max_allocation},
                  "local_memory", uint64_t{info.local_memory}, "fp64", info.fp64, "available",
                  info.available);
  }
};

template <>
struct Encoder<dala::PlatformReport> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const dala::PlatformReport& platform) {
    return fields(env, "name", platform.name, "version", platform.version, "problem",
                  TextOrNil{platform.problem}, "devices", platform.devices);
  }
};

template <>
struct Encoder<dala::Survey> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const dala::Survey& survey) {
    return fields(env, "problem", TextOrNil{survey.problem}, "platforms", survey.platforms);
  }
};

template <>
struct Encoder<Running> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const Running& running) {
    dala::Runtime& runtime = running.engine->runtime();
    const dala::Device& device = runtime.device();
    const dala::CacheFolders& folders = runtime.folders();
    const bool kept = !folders.store.folder.empty();
    const bool cpu = device.device_class() == dala::DeviceClass::cpu;
    return put_fields(env, fine::encode(env, device.info()), "class", to_atom(cpu ? "cpu" : "gpu"),
                      "zero_copy", device.shares_host_memory(), "why", device.why(), "cache_dir",
                      std::string(kept ? folders.store.folder : folders.work.path()), "cache_why",
                      TextOrNil{folders.store.why}, "cache_limit",
                      uint64_t{runtime.config().cache_limit}, "cache_note",
                      TextOrNil{folders.note()}, "work_dir", TextOrNil{folders.work.path()},
                      "work_why", TextOrNil{folders.work.why()});
  }
};

template <>
struct Encoder<dala::MemoryInfo> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const dala::MemoryInfo& info) {
    return fields(env, "in_use", uint64_t{info.in_use}, "peak", uint64_t{info.peak}, "pooled",
                  uint64_t{info.pooled}, "shared", uint64_t{info.shared}, "limit",
                  uint64_t{info.limit});
  }
};

template <>
struct Encoder<dala::Counters> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const dala::Counters& counters) {
    return fields(env, "allocations", uint64_t{counters.allocations}, "compiled",
                  uint64_t{counters.compiled}, "reads", uint64_t{counters.reads}, "bytes_in",
                  uint64_t{counters.bytes_in}, "bytes_out", uint64_t{counters.bytes_out});
  }
};

}  // namespace fine

namespace dala::nif {

std::string version(ErlNifEnv*) { return DALA_GPU_VERSION; }
FINE_NIF(version, 0);

// The work happens on the starter thread; the caller gets `{ref, :ok | {:error, e}}`.
OkOrError<> runtime_start(ErlNifEnv* env, Config config, Term ref) {
  return guarded(env, [&] {
    auto message = Message::reply(self(env), ref);
    Instance::get().post(
        [config, message] { answer(*message, [&] { Instance::get().start(config); }); });
    return ok();
  });
}
FINE_NIF(runtime_start, 0);

// From now on this process gets `{:dala_gpu_lost, {:error, e}}` when the device is lost, and
// `{:dala_gpu_note, text}` when a setting could not be honoured.
fine::Ok<> report_to(ErlNifEnv*, ErlNifPid pid) {
  Instance::get().on_lost(
      [pid](const Error& problem) { Message::lost(pid)->send_result(0, &problem); });
  Instance::get().on_note([pid](const std::string& note) { Message::note(pid)->send_value(note); });
  return ok();
}
FINE_NIF(report_to, 0);

OkOrError<Running> runtime_info(ErlNifEnv* env) {
  return guarded(env, [&] { return ok(Running{engine()}); });
}
FINE_NIF(runtime_info, 0);

// The caller gets `{ref, survey}`. The folder for compiled kernels is settled by the first call
// into a driver, so it is asked for here, too.
OkOrError<> survey(ErlNifEnv* env, std::string cache_dir, Term ref) {
  return guarded(env, [&] {
    auto message = Message::reply(self(env), ref);
    Config config;
    config.cache_dir = std::move(cache_dir);
    Instance::get().post([message, config] {
      try {
        prepare_process(with_cache_dir(config));
        const Survey found = dala::survey();
        restore_signal_handlers();
        message->send_value(found);
      } catch (...) {
        const ErrorPtr problem = current_error();
        message->send_result(0, problem.get());
      }
    });
    return ok();
  });
}
FINE_NIF(survey, 0);

OkOrError<MemoryInfo> memory_info(ErlNifEnv* env) {
  return guarded(env, [&] { return ok(engine()->runtime().memory().info()); });
}
FINE_NIF(memory_info, 0);

Result<bool> memory_should_collect(ErlNifEnv* env) {
  return guarded(env, [&] { return engine()->runtime().memory().should_collect(); });
}
FINE_NIF(memory_should_collect, 0);

OkOrError<Counters> counters(ErlNifEnv* env) {
  return guarded(env, [&] { return ok(engine()->runtime().counters()); });
}
FINE_NIF(counters, 0);

}  // namespace dala::nif
