// The two folders of the kernel cache. The store has the compiled kernels of all VMs of a user, as
// files that nobody but this library reads. The work folder is where the driver writes and loads
// libraries; each VM has one of its own, which is empty at its start and goes with it.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "runtime/config.hpp"

namespace dala {

struct Store {
  std::string folder;  // empty where nothing can be kept
  std::string why;     // this one, for people
  std::string note;    // what is wrong with the folder that was asked for, or empty
};

// The first that can serve of: `cache_dir`, the user's cache, a folder of this user among the
// temporary ones.
Store choose_store(const Config& config);

// Drivers read the name of their folder once for the whole process, so there is one.
class WorkFolder {
 public:
  // The one of this process; the first call makes it, in the first of these that can serve: the
  // folder that POCL_CACHE_DIR names, the store, those for temporary files. Removed at exit.
  static WorkFolder& of_process(const Store& store);

  // Empty where no folder can serve.
  const std::string& path() const { return path_; }
  const std::string& why() const { return why_; }
  // What is wrong with the folders that were tried before, or empty.
  const std::string& note() const { return note_; }

  // The folder is left alone at exit while anybody holds it, since the driver may be busy in it.
  void hold();
  void release();

 private:
  WorkFolder() = default;
  bool open_in(const std::string& root);
  void remove_at_exit();

  std::string path_;
  std::string why_;
  std::string note_;
  int lock_ = -1;  // on the folder, which tells other VMs that it is in use
  std::mutex mutex_;
  int holders_ = 0;
};

// Removes the work folders in `root` whose VM has ended without doing so.
void sweep_work_folders(const std::string& root);

}  // namespace dala
