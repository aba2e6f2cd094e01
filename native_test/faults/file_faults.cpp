// These functions replace those of the C library in this process. Calls of drivers are forwarded.
#include "faults/file_faults.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "faults/cl_faults.hpp"

namespace dala::test {
namespace {

#define DALA_FILE_COUNT(name) +1
constexpr size_t kFunctions = 0 DALA_FILE_FUNCTIONS(DALA_FILE_COUNT);
#undef DALA_FILE_COUNT

std::array<std::atomic<long>, kFunctions> g_calls{};

struct Armed {
  std::mutex mutex;
  bool armed = false;
  size_t function = 0;
  long left = 0;
  int error = 0;
  bool happened = false;
};
Armed g_armed;

// The errno with which this call must fail; usually 0.
int fault_of(FileFunction function) {
  if (!ClFaults::in_library()) return 0;
  const auto index = static_cast<size_t>(function);
  g_calls[index].fetch_add(1);
  const std::lock_guard lock(g_armed.mutex);
  if (!g_armed.armed || g_armed.function != index || --g_armed.left > 0) return 0;
  g_armed.armed = false;
  g_armed.happened = true;
  return g_armed.error;
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

const std::vector<FileFaultSpec>& file_fault_specs() {
  static const std::vector<FileFaultSpec> specs = {
#define DALA_FILE_SPEC(name) {FileFunction::name, #name},
      DALA_FILE_FUNCTIONS(DALA_FILE_SPEC)
#undef DALA_FILE_SPEC
  };
  return specs;
}

void FileFaults::arm(FileFunction function, long nth, int error) {
  const std::lock_guard lock(g_armed.mutex);
  g_armed.armed = true;
  g_armed.function = static_cast<size_t>(function);
  g_armed.left = nth;
  g_armed.error = error;
  g_armed.happened = false;
}

bool FileFaults::disarm() {
  const std::lock_guard lock(g_armed.mutex);
  g_armed.armed = false;
  return g_armed.happened;
}

long FileFaults::calls(FileFunction function) {
  return g_calls[static_cast<size_t>(function)].load();
}

}  // namespace dala::test

using dala::test::fault_of;
using dala::test::FileFunction;

// A function that fails by returning `failed` and setting errno. `...` are its arguments.
#define DALA_FILE_CALL(name, failed, ...)                                \
  {                                                                      \
    static const auto real = dala::test::next<decltype(&::name)>(#name); \
    if (const int error = fault_of(FileFunction::name)) {                \
      errno = error;                                                     \
      return failed;                                                     \
    }                                                                    \
    return real(__VA_ARGS__);                                            \
  }

extern "C" {
#pragma GCC visibility push(default)

int access(const char* path, int mode) noexcept
    DALA_FILE_CALL(access, -1, path, mode) int chmod(const char* path, mode_t mode) noexcept
    DALA_FILE_CALL(chmod, -1, path, mode) int fallocate(int fd, int mode, off_t offset, off_t bytes)
        DALA_FILE_CALL(fallocate, -1, fd, mode, offset, bytes) int flock(int fd,
                                                                         int operation) noexcept
    DALA_FILE_CALL(flock, -1, fd, operation) FILE* fopen(const char* path, const char* mode)
        DALA_FILE_CALL(fopen, nullptr, path, mode) int fstat(int fd, struct stat* state) noexcept
    DALA_FILE_CALL(fstat, -1, fd, state) int fstatfs(int fd, struct statfs* state) noexcept
    DALA_FILE_CALL(fstatfs, -1, fd, state) int lstat(const char* path, struct stat* state) noexcept
    DALA_FILE_CALL(lstat, -1, path, state) int mkdir(const char* path, mode_t mode) noexcept
    DALA_FILE_CALL(mkdir, -1, path, mode) char* mkdtemp(char* path) noexcept
    DALA_FILE_CALL(mkdtemp, nullptr, path) int mkostemp(char* path, int flags)
        DALA_FILE_CALL(mkostemp, -1, path, flags) int mkostemps(char* path, int length, int flags)
            DALA_FILE_CALL(mkostemps, -1, path, length, flags) DIR* opendir(const char* path)
                DALA_FILE_CALL(opendir, nullptr, path) int poll(pollfd* watched, nfds_t count,
                                                                int limit)
                    DALA_FILE_CALL(poll, -1, watched, count, limit) ssize_t
    read(int fd, void* to, size_t bytes) DALA_FILE_CALL(read, -1, fd, to,
                                                        bytes) dirent* readdir(DIR* folder)
        DALA_FILE_CALL(readdir, nullptr, folder) char* realpath(const char* path, char* to) noexcept
    DALA_FILE_CALL(realpath, nullptr, path, to) int rename(const char* from,
                                                           const char* to) noexcept
    DALA_FILE_CALL(rename, -1, from, to) ssize_t
    send(int fd, const void* from, size_t bytes, int flags)
        DALA_FILE_CALL(send, -1, fd, from, bytes,
                       flags) int socketpair(int domain, int type, int protocol, int* ends) noexcept
    DALA_FILE_CALL(socketpair, -1, domain, type, protocol,
                   ends) int stat(const char* path, struct stat* state) noexcept
    DALA_FILE_CALL(stat, -1, path, state) int statfs(const char* path,
                                                     struct statfs* state) noexcept
    DALA_FILE_CALL(statfs, -1, path, state) int statvfs(const char* path,
                                                        struct statvfs* state) noexcept
    DALA_FILE_CALL(statvfs, -1, path, state) int unlink(const char* path) noexcept
    DALA_FILE_CALL(unlink, -1, path) int unlinkat(int folder, const char* path, int flags) noexcept
    DALA_FILE_CALL(unlinkat, -1, folder, path, flags) int utimensat(int folder, const char* path,
                                                                    const timespec* times,
                                                                    int flags) noexcept
    DALA_FILE_CALL(utimensat, -1, folder, path, times, flags) ssize_t
    write(int fd, const void* from, size_t bytes) DALA_FILE_CALL(write, -1, fd, from, bytes)

        int close(int fd) {
  static const auto real = dala::test::next<decltype(&::close)>("close");
  const int error = fault_of(FileFunction::close);
  const int status = real(fd);
  if (error == 0) return status;
  errno = error;
  return -1;
}

int open(const char* path, int flags, ...) {
  static const auto real = dala::test::next<int (*)(const char*, int, ...)>("open");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (const int error = fault_of(FileFunction::open)) {
    errno = error;
    return -1;
  }
  return real(path, flags, mode);
}

int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const* arguments,
                char* const* environment) {
  static const auto real = dala::test::next<decltype(&::posix_spawn)>("posix_spawn");
  if (const int error = fault_of(FileFunction::posix_spawn)) return error;
  return real(pid, path, actions, attributes, arguments, environment);
}

#pragma GCC visibility pop
}  // extern "C"
