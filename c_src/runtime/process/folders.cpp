#include "runtime/process/folders.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/vfs.h>
#else
#include <sys/mount.h>
#include <sys/param.h>
#endif

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "runtime/error.hpp"
#include "runtime/process/files.hpp"

namespace dala {
namespace {

constexpr uint64_t kBuildFiles = 256;  // created by one build, at most

std::string mode_text(mode_t mode) {
  char digits[8];
  std::snprintf(digits, sizeof(digits), "%03o", static_cast<unsigned>(mode & 07777));
  return digits;
}

// A temporary file, unlinked as soon as it is created.
class Probe {
 public:
  explicit Probe(const std::string& folder) {
    std::string path = folder + "/probe-XXXXXX";
    fd_ = mkostemp(path.data(), O_CLOEXEC);
    if (fd_ >= 0) unlink(path.c_str());
  }
  ~Probe() {
    if (fd_ >= 0) close(fd_);
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

std::string no_room(uint64_t free) {
  return text("has no room: ", size_text(free), " are free, a build may take ",
              size_text(kBuildRoom));
}

std::string error_text(int error) {
  if (error == EROFS) return "is on a read-only file system";
  if (error == ENOSPC || error == EDQUOT) return no_room(0);
  return text("cannot be written: ", std::strerror(error));
}

// The owner of a folder, and everyone who may write to one without the sticky bit, can replace its
// contents. The owner of the root is trusted; in a user namespace that need not be user 0.
std::string parent_problem(const std::string& folder) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(folder, error);
  if (error) return text("cannot be resolved: ", error.message());
  struct stat root {};
  if (stat("/", &root) != 0) return text("cannot be used: ", std::strerror(errno));
  for (std::filesystem::path above = real.parent_path();; above = above.parent_path()) {
    struct stat state {};
    if (stat(above.c_str(), &state) != 0) return text("cannot be used: ", std::strerror(errno));
    if ((state.st_mode & S_IWOTH) != 0 && (state.st_mode & S_ISVTX) == 0) {
      return text("can be replaced by others: everyone may write to ", above.string());
    }
    if (state.st_uid != 0 && state.st_uid != geteuid() && state.st_uid != root.st_uid) {
      return text("can be replaced by the owner of ", above.string(), " (uid ", state.st_uid, ")");
    }
    if (above == above.parent_path()) return "";
  }
}

#if defined(__linux__)
bool in_memory(int fd) {
  struct statfs state {};
  return fstatfs(fd, &state) == 0 && static_cast<uint32_t>(state.f_type) == 0x01021994u;
}

bool file_size_limited() {
  struct rlimit limit {};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < kBuildRoom;
}
#endif

}  // namespace

std::string trust_problem(const std::string& folder, FolderUse use) {
  struct stat state {};
  if (lstat(folder.c_str(), &state) != 0) return text("cannot be used: ", std::strerror(errno));
  if (S_ISLNK(state.st_mode)) {
    if (state.st_uid != geteuid() && state.st_uid != 0) {
      return text("is a symbolic link of another user (uid ", state.st_uid, ")");
    }
    if (stat(folder.c_str(), &state) != 0) return text("cannot be used: ", std::strerror(errno));
  }
  if (!S_ISDIR(state.st_mode)) return "is not a folder";
  if (use == FolderUse::shared && (state.st_mode & S_ISVTX) != 0) return parent_problem(folder);
  if (state.st_uid != geteuid() && (use == FolderUse::own || state.st_uid != 0)) {
    return text("belongs to another user (uid ", state.st_uid, ")");
  }
  if ((state.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return text("can be written by others (mode ", mode_text(state.st_mode), ")");
  }
  return parent_problem(folder);
}

std::string write_problem(const std::string& folder) {
  const Probe probe(folder);
  return probe.fd() < 0 ? error_text(errno) : "";
}

std::string room_problem(const std::string& folder) {
  struct statvfs state {};
  if (statvfs(folder.c_str(), &state) != 0) return text("cannot be used: ", std::strerror(errno));
  const uint64_t free = static_cast<uint64_t>(state.f_bavail) * state.f_frsize;
  if (free < kBuildRoom) return no_room(free);
  // Some file systems have no fixed number of inodes, and report zero.
  if (state.f_files > 0 && state.f_favail < kBuildFiles) {
    return text("has no room: ", static_cast<uint64_t>(state.f_favail),
                " more files fit, a build may take ", kBuildFiles);
  }
  return "";
}

std::string real_room_problem(const std::string& folder) {
  const std::string problem = room_problem(folder);
  if (!problem.empty()) return problem;
  const Probe probe(folder);
  if (probe.fd() < 0) return error_text(errno);
#if defined(__linux__)
  // Memory file systems have no quotas, and allocating would clear the pages. Exceeding a limit on
  // the size of files would raise SIGXFSZ.
  if (in_memory(probe.fd()) || file_size_limited()) return "";
  if (fallocate(probe.fd(), 0, 0, static_cast<off_t>(kBuildRoom)) != 0 &&
      (errno == ENOSPC || errno == EDQUOT)) {
    return text("has no room: ", std::strerror(errno), ", a build may take ",
                size_text(kBuildRoom));
  }
#endif
  return "";
}

std::string load_problem(const std::string& folder) {
  const Probe probe(folder);
  if (probe.fd() < 0) return error_text(errno);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const std::string content(page, '\0');
  if (write(probe.fd(), content.data(), page) != static_cast<ssize_t>(page)) {
    return error_text(errno);
  }
  // As the loader maps the code of a library.
  void* code = mmap(nullptr, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, probe.fd(), 0);
  if (code == MAP_FAILED) {
    if (errno == EPERM) return "is mounted noexec";
    return text("cannot hold code: ", std::strerror(errno));
  }
  munmap(code, page);
  return "";
}

bool on_network(const std::string& folder) {
#if defined(__linux__)
  struct statfs state {};
  if (statfs(folder.c_str(), &state) != 0) return false;
  switch (static_cast<uint32_t>(state.f_type)) {
    case 0x6969u:      // NFS
    case 0x517bu:      // SMB
    case 0xfe534d42u:  // SMB 2
    case 0xff534d42u:  // CIFS
    case 0x5346414fu:  // AFS
    case 0x73757245u:  // Coda
    case 0x00c36400u:  // Ceph
    case 0x01021997u:  // 9p
    case 0x0bd00bd0u:  // Lustre
      return true;
    default:
      return false;
  }
#else
  struct statfs state {};
  return statfs(folder.c_str(), &state) == 0 && (state.f_flags & MNT_LOCAL) == 0;
#endif
}

}  // namespace dala
