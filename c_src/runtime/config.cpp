#include "runtime/config.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>

#include "runtime/error.hpp"

namespace dala {
namespace {

std::string environment(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

void read_choice(const char* name, std::string& field,
                 std::initializer_list<std::string_view> choices) {
  const std::string value = environment(name);
  if (!value.empty()) field = value;
  if (std::find(choices.begin(), choices.end(), field) != choices.end()) return;
  std::string known;
  for (std::string_view choice : choices) known += text(known.empty() ? "" : ", ", choice);
  throw Error(Reason::invalid_param, text(name, " takes one of ", known, ", got ", field));
}

void read_flag(const char* name, bool& flag) {
  std::string value = flag ? "1" : "0";
  read_choice(name, value, {"0", "1", "false", "true"});
  flag = value == "1" || value == "true";
}

}  // namespace

bool make_usable(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return access(folder.c_str(), R_OK | W_OK | X_OK) == 0;
}

Config with_environment(Config config) {
  const std::string device = environment("DALA_GPU_DEVICE");
  if (!device.empty()) config.device = device;
  read_choice("DALA_GPU_DEVICE_CLASS", config.device_class, {"auto", "cpu", "gpu"});
  read_choice("DALA_GPU_MATMUL", config.matmul, {"auto", "builtin", "clblast"});

  const std::string cache = environment("DALA_GPU_CACHE_DIR");
  if (!cache.empty()) config.cache_dir = cache;

  read_flag("DALA_GPU_ZERO_COPY", config.zero_copy);
  read_flag("DALA_GPU_PIN_THREADS", config.pin_threads);
  read_flag("DALA_GPU_FUSION", config.fusion);

  const std::string limit = environment("DALA_GPU_MEMORY_LIMIT");
  if (!limit.empty()) {
    char* end = nullptr;
    config.memory_limit = strtoull(limit.c_str(), &end, 10);
    if (*end != '\0') {
      throw Error(Reason::invalid_param,
                  text("DALA_GPU_MEMORY_LIMIT takes a number of bytes, got ", limit));
    }
  }
  return config;
}

std::string cache_folder(const Config& config) {
  if (!config.cache_dir.empty() && make_usable(config.cache_dir)) return config.cache_dir;
  const std::string xdg = environment("XDG_CACHE_HOME");
  if (!xdg.empty() && make_usable(xdg + "/dala_gpu")) return xdg + "/dala_gpu";
  const std::string home = environment("HOME");
  if (!home.empty() && make_usable(home + "/.cache/dala_gpu")) return home + "/.cache/dala_gpu";
  const std::string fallback = text("/tmp/dala_gpu-", getuid());
  make_usable(fallback);
  return fallback;
}

}  // namespace dala
