#include "runtime/program/cache_folders.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "runtime/error.hpp"
#include "runtime/process/files.hpp"
#include "runtime/process/folders.hpp"

namespace dala {
namespace {

constexpr const char* kWorkPrefix = "dala_gpu-work-";
constexpr size_t kLongestPath = 512;  // drivers use fixed-size arrays for file names

std::string variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

// Absolute, since the current folder may change, and without a trailing slash, which would follow a
// link.
std::string settled(const std::string& folder) {
  std::error_code error;
  std::string path = std::filesystem::absolute(folder, error).string();
  if (error) return folder;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string temporary_root() {
  const std::string given = variable("TMPDIR");
  return given.empty() || given.front() != '/' ? "/tmp" : settled(given);
}

void add(std::string& notes, const std::string& note) {
  if (note.empty()) return;
  notes += text(notes.empty() ? "" : "; ", note);
}

struct Candidate {
  std::string folder;
  std::string why;
  bool asked_for;  // by the user, so its mode is not changed
};

std::vector<Candidate> store_candidates(const Config& config) {
  std::vector<Candidate> candidates;
  if (!config.cache_dir.empty()) {
    candidates.push_back({settled(config.cache_dir), "cache_dir names it", true});
  }
  const std::string xdg = variable("XDG_CACHE_HOME");
  const std::string home = variable("HOME");
  if (!xdg.empty() && xdg.front() == '/') {
    candidates.push_back({xdg + "/dala_gpu", "it is in XDG_CACHE_HOME", false});
  }
  if (!home.empty() && home.front() == '/') {
    candidates.push_back({home + "/.cache/dala_gpu", "it is the user's cache folder", false});
  }
  const char* why = home.empty() ? "HOME is not set" : "no other folder can be used";
  candidates.push_back({text(temporary_root(), "/dala_gpu-", geteuid()), why, false});
  return candidates;
}

// If others could write to one of our folders, its contents cannot be trusted.
void make_private(const std::string& folder) {
  struct stat state {};
  if (lstat(folder.c_str(), &state) != 0 || !S_ISDIR(state.st_mode)) return;
  if (state.st_uid != geteuid() || (state.st_mode & (S_IWGRP | S_IWOTH)) == 0) return;
  if (chmod(folder.c_str(), 0700) != 0) return;
  for (const std::string& name : names_in(folder)) {
    const std::string end = std::filesystem::path(name).extension().string();
    if (end == ".bin" || end == ".pack" || end == ".tmp") remove_all(folder + "/" + name);
  }
}

// All problems except for lack of space, which may be temporary.
std::string store_problem(const Candidate& candidate) {
  const std::string& folder = candidate.folder;
  if (!make_folder(folder)) {
    return errno == EROFS ? "is on a read-only file system"
                          : text("cannot be created: ", std::strerror(errno));
  }
  if (!candidate.asked_for) make_private(folder);
  std::string problem = trust_problem(folder, FolderUse::own);
  if (problem.empty()) problem = write_problem(folder);
  return problem;
}

struct Root {
  std::string folder;
  std::string why;
  FolderUse use;
};

std::vector<Root> work_roots(const Store& store) {
  std::vector<Root> roots;
  const std::string pocl = variable("POCL_CACHE_DIR");
  if (!pocl.empty()) roots.push_back({settled(pocl), "POCL_CACHE_DIR names it", FolderUse::own});
  if (!store.folder.empty())
    roots.push_back({store.folder, "the kernels are kept there", FolderUse::own});
  const std::string runtime = variable("XDG_RUNTIME_DIR");
  if (!runtime.empty()) roots.push_back({settled(runtime), "it can hold code", FolderUse::own});
  for (const std::string& shared : {temporary_root(), std::string("/tmp"), std::string("/var/tmp"),
                                    std::string("/dev/shm"), std::string("/run")}) {
    roots.push_back({shared, "it can hold code", FolderUse::shared});
  }
  return roots;
}

std::string work_problem(const Root& root) {
  if (root.folder.size() > kLongestPath) return "has a name that is too long for the driver";
  if (root.use == FolderUse::own && !make_folder(root.folder)) {
    return text("cannot be created: ", std::strerror(errno));
  }
  std::string problem = trust_problem(root.folder, root.use);
  if (problem.empty()) problem = load_problem(root.folder);
  return problem;
}

int open_folder(const std::string& path) {
  return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

}  // namespace

Store choose_store(const Config& config) {
  const std::vector<Candidate> candidates = store_candidates(config);
  Store full;  // usable, but without space
  Store found;
  std::string notes;
  for (const Candidate& candidate : candidates) {
    std::string problem = store_problem(candidate);
    const bool usable = problem.empty();
    if (usable) problem = room_problem(candidate.folder);
    if (problem.empty()) {
      found = {candidate.folder, candidate.why, ""};
      break;
    }
    if (usable && full.folder.empty()) full = {candidate.folder, candidate.why, ""};
    add(notes, text(candidate.folder, " ", problem));
  }
  if (found.folder.empty()) found = full;
  if (notes.empty()) return found;
  found.note = text(notes, "; compiled kernels are ",
                    found.folder.empty() ? "not kept" : text("kept in ", found.folder));
  return found;
}

WorkFolder& WorkFolder::of_process(const Store& store) {
  static std::mutex mutex;
  static WorkFolder* folder = nullptr;
  const std::lock_guard lock(mutex);
  if (folder != nullptr) return *folder;
  folder = new WorkFolder;  // never destroyed: used until the process ends
  std::string notes;
  const std::vector<Root> roots = work_roots(store);
  const Root* full = nullptr;
  const Root* remote = nullptr;
  for (const Root& root : roots) {
    if (const std::string problem = work_problem(root); !problem.empty()) {
      // Folders that the user did not configure, and stores that are not used, are not worth a
      // note.
      if (root.use == FolderUse::own) add(notes, text(root.folder, " ", problem));
    } else if (const std::string room = real_room_problem(root.folder); !room.empty()) {
      if (full == nullptr) full = &root;
      if (root.use == FolderUse::own) add(notes, text(root.folder, " ", room));
    } else if (on_network(root.folder)) {
      if (remote == nullptr) remote = &root;
    } else if (folder->open_in(root.folder)) {
      folder->why_ = root.why;
      break;
    }
  }
  for (const Root* next : {remote, full}) {
    if (next == nullptr || !folder->path_.empty() || !folder->open_in(next->folder)) continue;
    folder->why_ = next->why;
  }
  if (!notes.empty()) {
    folder->note_ =
        text(notes, "; ",
             folder->path_.empty() ? std::string("the driver cannot load kernels anywhere")
                                   : text("the driver loads kernels from ", folder->path_));
  }
  if (!folder->path_.empty()) std::atexit([] { WorkFolder::of_process({}).remove_at_exit(); });
  return *folder;
}

bool WorkFolder::open_in(const std::string& root) {
  sweep_work_folders(root);
  // Another VM's sweep may lock a new folder first, and then removes it.
  for (int attempt = 0; attempt < 5; ++attempt) {
    std::string path = text(root, "/", kWorkPrefix, "XXXXXX");
    if (mkdtemp(path.data()) == nullptr) return false;
    const int lock = open_folder(path);
    if (lock >= 0 && (flock(lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)) {
      // On a file system without locks, no VM gets one, and none sweeps.
      path_ = path;
      lock_ = lock;
      return true;
    }
    if (lock >= 0) close(lock);
  }
  return false;
}

void WorkFolder::hold() {
  const std::lock_guard lock(mutex_);
  ++holders_;
}

void WorkFolder::release() {
  const std::lock_guard lock(mutex_);
  --holders_;
}

void WorkFolder::remove_at_exit() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock && holders_ == 0) remove_all(path_);
}

void sweep_work_folders(const std::string& root) {
  for (const std::string& name : names_in(root)) {
    if (name.compare(0, std::strlen(kWorkPrefix), kWorkPrefix) != 0) continue;
    const std::string path = root + "/" + name;
    struct stat state {};
    const int lock = open_folder(path);
    if (lock < 0) continue;
    if (fstat(lock, &state) == 0 && state.st_uid == geteuid() &&
        flock(lock, LOCK_EX | LOCK_NB) == 0) {
      remove_all(path);
    }
    close(lock);
  }
}

}  // namespace dala
