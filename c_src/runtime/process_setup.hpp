// What the process must look like before the first OpenCL call.
#pragma once

#include "runtime/cache_folders.hpp"
#include "runtime/config.hpp"

namespace dala {

struct CacheFolders {
  Store store;
  WorkFolder& work;

  // A sentence for the log: which folder cannot serve, why, and what is used instead. Empty when
  // all is as it was asked for.
  std::string note() const;
};

// Lets drivers run child processes, remembers the host's signal handlers, and gives PoCL a kernel
// cache that nobody else writes to. PoCL finds no device where no folder can hold one. Twice is
// fine.
CacheFolders prepare_process(const Config& config);

}  // namespace dala
