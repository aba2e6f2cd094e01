#include "runtime/process_setup.hpp"

#include <stdlib.h>

#include <string>

#include "runtime/signals.hpp"

namespace dala {

void prepare_process(const Config& config) {
  allow_child_processes();
  remember_signal_handlers();
  const char* pocl = getenv("POCL_CACHE_DIR");
  if (pocl != nullptr && make_usable(pocl)) return;
  const std::string own = cache_folder(config) + "/pocl";
  if (make_usable(own)) setenv("POCL_CACHE_DIR", own.c_str(), 1);
}

}  // namespace dala
