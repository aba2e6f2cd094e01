#include "runtime/process_setup.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "runtime/signals.hpp"

namespace dala {
namespace {

bool usable(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return access(folder.c_str(), R_OK | W_OK | X_OK) == 0;
}

}  // namespace

void prepare_process(const Config& config) {
  allow_child_processes();
  remember_signal_handlers();
  const char* pocl = getenv("POCL_CACHE_DIR");
  if (pocl != nullptr && usable(pocl)) return;
  const std::string own = cache_folder(config) + "/pocl";
  if (usable(own)) setenv("POCL_CACHE_DIR", own.c_str(), 1);
}

}  // namespace dala
