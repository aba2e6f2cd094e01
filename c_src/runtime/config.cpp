#include "runtime/config.hpp"

#include <stdlib.h>

#include <algorithm>
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

void read_number(const char* name, const char* unit, uint64_t& number) {
  const std::string value = environment(name);
  if (value.empty()) return;
  char* end = nullptr;
  number = strtoull(value.c_str(), &end, 10);
  if (*end == '\0') return;
  throw Error(Reason::invalid_param, text(name, " takes a number of ", unit, ", got ", value));
}

}  // namespace

Config with_environment(Config config) {
  const std::string device = environment("DALA_GPU_DEVICE");
  if (!device.empty()) config.device = device;
  read_choice("DALA_GPU_DEVICE_CLASS", config.device_class, {"auto", "cpu", "gpu"});
  read_choice("DALA_GPU_MATMUL", config.matmul, {"auto", "builtin", "clblast"});

  const std::string cache = environment("DALA_GPU_CACHE_DIR");
  if (!cache.empty()) config.cache_dir = cache;

  read_flag("DALA_GPU_ZERO_COPY", config.zero_copy);
  read_flag("DALA_GPU_PIN_THREADS", config.pin_threads);
  read_flag("DALA_GPU_EXECUTOR", config.executor);
  read_flag("DALA_GPU_FUSION", config.fusion);

  read_number("DALA_GPU_MEMORY_LIMIT", "bytes", config.memory_limit);
  read_number("DALA_GPU_CACHE_LIMIT", "bytes", config.cache_limit);
  read_number("DALA_GPU_KERNEL_TIMEOUT", "milliseconds", config.kernel_timeout);
  read_number("DALA_GPU_BUILD_TIMEOUT", "milliseconds", config.build_timeout);
  return config;
}

}  // namespace dala
