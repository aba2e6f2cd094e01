#include "runtime/process/process_setup.hpp"

#include <stdlib.h>

#include "runtime/error.hpp"
#include "runtime/process/signals.hpp"

namespace dala {

std::string CacheFolders::note() const {
  if (store.note.empty() || work.note().empty()) return store.note + work.note();
  return text(store.note, "; ", work.note());
}

CacheFolders prepare_process(const Config& config) {
  allow_child_processes();
  remember_signal_handlers();
  Store store = choose_store(config);
  WorkFolder& work = WorkFolder::of_process(store);
  // A folder from which no code can be loaded would crash the process at the first kernel.
  setenv("POCL_CACHE_DIR", work.path().empty() ? "/dev/null/none" : work.path().c_str(), 1);
  return {std::move(store), work};
}

}  // namespace dala
