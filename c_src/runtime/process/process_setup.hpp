// Process-wide setup before the first OpenCL call.
#pragma once

#include "runtime/config.hpp"
#include "runtime/program/cache_folders.hpp"

namespace dala {

struct CacheFolders {
  Store store;
  WorkFolder& work;

  // A sentence for the log: which folder cannot be used, why, and what is used instead. Empty when
  // the folders are those that were configured.
  std::string note() const;
};

// Lets drivers run child processes, saves the host's signal handlers, and gives PoCL a private
// kernel cache. If no folder can hold one, PoCL finds no device. Idempotent.
CacheFolders prepare_process(const Config& config);

}  // namespace dala
