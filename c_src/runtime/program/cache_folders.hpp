// The two folders of the kernel cache. The store holds the compiled kernels of all VMs of a user,
// in files that only this library reads. The work folder is where the driver writes and loads
// libraries; each VM has its own, which is empty at its start and removed at its end.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "runtime/config.hpp"

namespace dala {

struct Store {
  std::string folder;  // empty if nothing can be stored
  std::string why;     // this folder was chosen, for users
  std::string note;    // what is wrong with the configured folder, or empty
};

// The first usable one of: `cache_dir`, the user's cache folder, a folder of this user in the
// folder for temporary files.
Store choose_store(const Config& config);

// Drivers read the name of their folder once per process, so there is one work folder.
class WorkFolder {
 public:
  // The work folder of this process. The first call creates it, in the first usable one of: the
  // folder that POCL_CACHE_DIR names, the store, the folders for temporary files. Removed at exit.
  static WorkFolder& of_process(const Store& store);

  // Empty if no folder is usable.
  const std::string& path() const { return path_; }
  const std::string& why() const { return why_; }
  // Why the folders tried before this one were rejected, or empty.
  const std::string& note() const { return note_; }

  // A held folder is not removed at exit, since the driver may be writing to it.
  void hold();
  void release();

 private:
  WorkFolder() = default;
  bool open_in(const std::string& root);
  void remove_at_exit();

  std::string path_;
  std::string why_;
  std::string note_;
  int lock_ = -1;  // marks the folder as in use for other VMs
  std::mutex mutex_;
  int holders_ = 0;
};

// Removes the work folders in `root` that VMs have left behind.
void sweep_work_folders(const std::string& root);

}  // namespace dala
