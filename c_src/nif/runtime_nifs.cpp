// Starting the runtime, and what there is to know about it.
#include "nif/boundary.hpp"
#include "nif/instance.hpp"
#include "runtime/process_setup.hpp"
#include "runtime/signals.hpp"

namespace dala::nif {
namespace {

ERL_NIF_TERM field(ErlNifEnv* env, ERL_NIF_TERM map, std::string_view key) {
  ERL_NIF_TERM value = 0;
  if (enif_get_map_value(env, map, atom(env, key), &value) == 0) {
    throw std::invalid_argument(text("the configuration has no ", key));
  }
  return value;
}

Config decode_config(ErlNifEnv* env, ERL_NIF_TERM term) {
  Config config;
  config.device = fine::decode<std::string>(env, field(env, term, "device"));
  config.device_class = fine::decode<std::string>(env, field(env, term, "device_class"));
  config.matmul = fine::decode<std::string>(env, field(env, term, "matmul"));
  config.cache_dir = fine::decode<std::string>(env, field(env, term, "cache_dir"));
  config.zero_copy = fine::decode<bool>(env, field(env, term, "zero_copy"));
  config.pin_threads = fine::decode<bool>(env, field(env, term, "pin_threads"));
  config.fusion = fine::decode<bool>(env, field(env, term, "fusion"));
  config.memory_limit = fine::decode<uint64_t>(env, field(env, term, "memory_limit"));
  config.cache_limit = fine::decode<uint64_t>(env, field(env, term, "cache_limit"));
  config.kernel_timeout = fine::decode<uint64_t>(env, field(env, term, "kernel_timeout"));
  config.build_timeout = fine::decode<uint64_t>(env, field(env, term, "build_timeout"));
  return config;
}

// What else is wrong in the environment is for the start of the runtime to say.
Config with_cache_dir(const Config& config) {
  try {
    return with_environment(config);
  } catch (const Error&) {
    return config;
  }
}

Term text_or_nil(ErlNifEnv* env, const std::string& text) {
  return text.empty() ? atom(env, "nil") : string(env, text);
}

Term encode_device(ErlNifEnv* env, const DeviceInfo& info) {
  return map(env, {{"name", string(env, info.name)},
                   {"vendor", string(env, info.vendor)},
                   {"version", string(env, info.version)},
                   {"driver", string(env, info.driver)},
                   {"platform", string(env, info.platform_name)},
                   {"type", atom(env, info.type)},
                   {"compute_units", unsigned_integer(env, info.compute_units)},
                   {"global_memory", unsigned_integer(env, info.global_memory)},
                   {"max_allocation", unsigned_integer(env, info.max_allocation)},
                   {"local_memory", unsigned_integer(env, info.local_memory)},
                   {"fp64", boolean(env, info.fp64)},
                   {"available", boolean(env, info.available)}});
}

Term encode_survey(ErlNifEnv* env, const Survey& survey) {
  std::vector<Term> platforms;
  for (const PlatformReport& platform : survey.platforms) {
    std::vector<Term> devices;
    for (const DeviceInfo& device : platform.devices) {
      devices.push_back(encode_device(env, device));
    }
    platforms.push_back(map(env, {{"name", string(env, platform.name)},
                                  {"version", string(env, platform.version)},
                                  {"problem", text_or_nil(env, platform.problem)},
                                  {"devices", list(env, devices)}}));
  }
  return map(env,
             {{"problem", text_or_nil(env, survey.problem)}, {"platforms", list(env, platforms)}});
}

}  // namespace

Term version(ErlNifEnv* env) { return string(env, DALA_GPU_VERSION); }
FINE_NIF(version, 0);

// The work happens on the starter thread; the caller gets `{ref, :ok | {:error, e}}`.
Term runtime_start(ErlNifEnv* env, Term config_term, Term ref) {
  return guarded(env, [&] {
    const Config config = decode_config(env, config_term);
    auto message = Message::reply(self(env), ref);
    Instance::get().post(
        [config, message] { answer(*message, [&] { Instance::get().start(config); }); });
    return atom(env, "ok");
  });
}
FINE_NIF(runtime_start, 0);

// From now on this process gets `{:dala_gpu_lost, {:error, e}}` when the device is lost, and
// `{:dala_gpu_note, text}` when something is not as it was asked for.
Term report_to(ErlNifEnv* env, ErlNifPid pid) {
  Instance::get().on_lost(
      [pid](const Error& problem) { Message::lost(pid)->send_result(0, &problem); });
  Instance::get().on_note([pid](const std::string& note) {
    const auto message = Message::note(pid);
    message->send(string(message->env(), note));
  });
  return atom(env, "ok");
}
FINE_NIF(report_to, 0);

Term runtime_info(ErlNifEnv* env) {
  return guarded(env, [&] {
    const auto current = engine();
    const Device& device = current->runtime().device();
    ERL_NIF_TERM info = encode_device(env, device.info());
    const auto put = [&](std::string_view key, Term value) {
      enif_make_map_put(env, info, atom(env, key), value, &info);
    };
    put("class", atom(env, device.device_class() == DeviceClass::cpu ? "cpu" : "gpu"));
    put("zero_copy", boolean(env, device.shares_host_memory()));
    put("why", string(env, device.why()));
    const CacheFolders& folders = current->runtime().folders();
    const bool kept = !folders.store.folder.empty();
    put("cache_dir", string(env, kept ? folders.store.folder : folders.work.path()));
    put("cache_why", text_or_nil(env, folders.store.why));
    put("cache_limit", unsigned_integer(env, current->runtime().config().cache_limit));
    put("cache_note", text_or_nil(env, folders.note()));
    put("work_dir", text_or_nil(env, folders.work.path()));
    put("work_why", text_or_nil(env, folders.work.why()));
    return ok(env, info);
  });
}
FINE_NIF(runtime_info, 0);

// The caller gets `{ref, survey}`. The folder for compiled kernels is settled by the first call
// into a driver, so it is asked for here, too.
Term survey(ErlNifEnv* env, std::string cache_dir, Term ref) {
  return guarded(env, [&] {
    auto message = Message::reply(self(env), ref);
    Config config;
    config.cache_dir = std::move(cache_dir);
    Instance::get().post([message, config] {
      try {
        prepare_process(with_cache_dir(config));
        const Survey found = dala::survey();
        restore_signal_handlers();
        message->send(encode_survey(message->env(), found));
      } catch (...) {
        const ErrorPtr problem = current_error();
        message->send_result(0, problem.get());
      }
    });
    return atom(env, "ok");
  });
}
FINE_NIF(survey, 0);

Term memory_info(ErlNifEnv* env) {
  return guarded(env, [&] {
    const MemoryInfo info = engine()->runtime().memory().info();
    return ok(env, map(env, {{"in_use", unsigned_integer(env, info.in_use)},
                             {"peak", unsigned_integer(env, info.peak)},
                             {"pooled", unsigned_integer(env, info.pooled)},
                             {"shared", unsigned_integer(env, info.shared)},
                             {"limit", unsigned_integer(env, info.limit)}}));
  });
}
FINE_NIF(memory_info, 0);

Term memory_should_collect(ErlNifEnv* env) {
  return guarded(env, [&] { return boolean(env, engine()->runtime().memory().should_collect()); });
}
FINE_NIF(memory_should_collect, 0);

Term counters(ErlNifEnv* env) {
  return guarded(env, [&] {
    const Counters counters = engine()->runtime().counters();
    return ok(env, map(env, {{"allocations", unsigned_integer(env, counters.allocations)},
                             {"compiled", unsigned_integer(env, counters.compiled)},
                             {"reads", unsigned_integer(env, counters.reads)},
                             {"bytes_in", unsigned_integer(env, counters.bytes_in)},
                             {"bytes_out", unsigned_integer(env, counters.bytes_out)}}));
  });
}
FINE_NIF(counters, 0);

}  // namespace dala::nif
