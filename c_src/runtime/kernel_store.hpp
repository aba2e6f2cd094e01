// Keeps what a driver compiles, between VMs. The driver (PoCL) has a kernel cache of its own, whose
// files it parses and loads unseen: a damaged one ends the process. So the driver only ever sees
// the work folder, which is private to this VM and empty at its start. Before a program is built,
// the files that an earlier build of it left are put there from the cache on disk, where their
// checksum is looked at; afterwards, new files are packed and saved.
//
// A program is known by its key. Which files are its own is observed: builds take turns, and the
// driver marks the folder that it has used.
#pragma once

#include <atomic>
#include <chrono>
#include <ctime>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "runtime/cache_folders.hpp"
#include "runtime/cl_api.hpp"
#include "runtime/disk_cache.hpp"

namespace dala {

class KernelStore {
 public:
  KernelStore(std::shared_ptr<DiskCache> files, WorkFolder& work);
  ~KernelStore();
  KernelStore(const KernelStore&) = delete;
  KernelStore& operator=(const KernelStore&) = delete;

  // The time in which the driver builds a program. Waits for its turn.
  class Build {
   public:
    // Throws `build_failed` when there is no room, or the process is about to end.
    Build(KernelStore& store, std::string key);
    ~Build();
    Build(const Build&) = delete;
    Build& operator=(const Build&) = delete;

    void succeeded() { succeeded_ = true; }  // otherwise what the driver has left is removed

   private:
    KernelStore& store_;
    const std::string key_;
    const std::unique_lock<std::mutex> turn_;
    bool succeeded_ = false;
  };

  // Puts the files of a program where the driver finds them, for a process that shares its folder.
  // Throws as Build does; waits for its turn, and gives it back.
  void provide(const std::string& key);

  // Drivers compile at the first launch of a kernel with some size of work-groups, or so wide, and
  // end the process when they cannot write. Throws `build_failed` when there is no room, or the
  // process is about to end. Takes some microseconds.
  void require_room() const;
  // Such a launch of a program is on the queue: when it has ended, there are files to save.
  void launched(const std::string& key, cl_event event) noexcept;

  // Whether `publish` has something to do. True once, until it is called.
  bool has_news() noexcept;
  // `publish` was not called after all: there is news again.
  void keep_news() noexcept;
  // Saves the new files of programs whose launches have ended. Does not wait for builds, whose end
  // does the same. For worker threads.
  void publish() noexcept;

  // A program of this key begins or ends to exist; several may.
  void enter(const std::string& key);
  void exit(const std::string& key) noexcept;
  // Removes the files of a program from disk. Unless it is built again, nothing more is saved, and
  // the driver's files go some time after the last program of this key.
  void discard(const std::string& key);

  // Lets nothing more be compiled, and saves what there is.
  void stop() noexcept;
  // The driver has nothing to do any more: its folder can be removed when the process ends.
  void leave() noexcept;

 private:
  // A folder of the driver, one for each program that differs to its eyes.
  struct Folder {
    timespec used{};             // when the driver marked it last
    std::set<std::string> keys;  // of the programs that it belongs to
  };
  struct News {
    std::string key;
    ClEvent event;  // none after a build
  };

  void require_running() const;

  // With the turn held:
  void begin(const std::string& key);
  std::string build_problem();
  std::vector<std::string> observe();  // the folders that are new or have been used
  void unpack(const std::string& key);
  void save(const std::string& key);
  void publish_ended();
  void remove_unwanted();
  void claim(const std::string& key, bool succeeded);
  bool has_failed(const std::string& path) const;
  void drop(const std::string& path);

  const std::shared_ptr<DiskCache> files_;
  WorkFolder& work_;

  std::mutex turn_;
  std::chrono::steady_clock::time_point next_probe_;
  std::map<std::string, Folder> folders_;               // by their path in the work folder
  std::map<std::string, std::set<std::string>> saved_;  // by key: the files that are on disk
  std::set<std::string> unpacked_;                      // folders for the build that has the turn

  mutable std::mutex news_mutex_;  // never held for long
  std::vector<News> news_;
  std::map<std::string, int> programs_;  // that exist
  std::set<std::string> discarded_;
  bool has_unwanted_ = false;  // among those that were discarded
  bool told_ = false;          // has_news
  std::atomic<bool> pending_{false};
  std::atomic<bool> stopped_{false};
  std::atomic<bool> left_{false};
};

}  // namespace dala
