// Keeps the driver's compiled kernels between VMs. PoCL has a kernel cache of its own, whose files
// it loads without checking them: a damaged file crashes the process. So PoCL only sees the work
// folder, which is private to this VM and empty at its start. Before a program is built, its files
// from an earlier build are unpacked there from the disk cache, which verifies their checksum; new
// files are packed and saved afterwards.
//
// A program is identified by its key. Its files are found by observation: builds are serialised,
// and the driver marks the folder that it has used.
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

#include "runtime/device/cl_api.hpp"
#include "runtime/program/cache_folders.hpp"
#include "runtime/program/compile_request.hpp"
#include "runtime/program/disk_cache.hpp"

namespace dala {

class KernelStore {
 public:
  KernelStore(std::shared_ptr<DiskCache> files, WorkFolder& work);
  ~KernelStore();
  KernelStore(const KernelStore&) = delete;
  KernelStore& operator=(const KernelStore&) = delete;

  // The scope of one build by the driver. Builds are serialised: the constructor waits.
  class Build {
   public:
    // Throws `build_failed` if there is no disk space, or the process is about to end.
    Build(KernelStore& store, std::string key);
    ~Build();
    Build(const Build&) = delete;
    Build& operator=(const Build&) = delete;

    void succeeded() { succeeded_ = true; }  // otherwise the driver's files are removed

   private:
    KernelStore& store_;
    const std::string key_;
    const std::unique_lock<std::mutex> turn_;
    bool succeeded_ = false;
  };

  // Unpacks the files of a program for a process that shares the driver's folder. Throws as Build
  // does; waits for other builds.
  void provide(const std::string& key);

  // To be called before a launch at which the driver may compile, since the driver aborts the
  // process when it cannot write. Throws `build_failed` if there is no disk space, or the process
  // is about to end. Takes microseconds.
  void require_room() const;
  // Such a launch has been enqueued; when it has ended, there are files to save.
  void launched(const std::string& key, cl_event event) noexcept;

  // Whether a launch at which the driver may compile is in flight.
  bool compiles() noexcept;

  // Whether there are files to save. True once, until `publish` is called.
  bool has_news() noexcept;
  // `publish` could not be called: `has_news` returns true again.
  void keep_news() noexcept;
  // Saves the new files of programs whose launches have ended. Does not wait for builds, which do
  // the same when they end. For worker threads.
  void publish() noexcept;

  // The path of the library compiled for this specialisation, or "". Waits for builds: for worker
  // threads.
  std::string library_of(const std::string& key, const Specialisation& form);

  // Counts the live programs of a key.
  void enter(const std::string& key);
  void exit(const std::string& key) noexcept;
  // Removes the files of a program from disk. Nothing more is saved unless it is built again, and
  // the driver's files are removed some time after the last program of this key.
  void discard(const std::string& key);

  // Prevents further compilation and saves the remaining files.
  void stop() noexcept;
  // The driver is idle for good: its folder can be removed when the process ends.
  void leave() noexcept;

 private:
  // A folder of the driver; it has one for each program that it considers distinct.
  struct Folder {
    timespec used{};             // time of the driver's last mark
    std::set<std::string> keys;  // of the programs that share it
  };
  struct News {
    std::string key;
    ClEvent event;  // null after a build
  };

  void require_running() const;

  // While the build lock is held:
  void begin(const std::string& key);
  std::string build_problem();
  std::vector<std::string> observe();  // returns the folders that are new or were used
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
  std::map<std::string, std::set<std::string>> saved_;  // by key: the files on disk
  std::set<std::string> unpacked_;                      // folders for the current build

  mutable std::mutex news_mutex_;  // only held briefly
  std::vector<News> news_;
  std::map<std::string, int> programs_;  // live programs by key
  std::set<std::string> discarded_;
  bool has_unwanted_ = false;  // some of the discarded
  bool told_ = false;          // `has_news` has returned true
  std::atomic<bool> pending_{false};
  std::atomic<bool> stopped_{false};
  std::atomic<bool> left_{false};
};

}  // namespace dala
