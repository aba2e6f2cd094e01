// Intercepts the C library's functions for files and processes, and makes one call fail with a
// given errno.
#pragma once

#include <string>
#include <vector>

namespace dala::test {

#define DALA_FILE_FUNCTIONS(X) \
  X(access)                    \
  X(chmod)                     \
  X(close)                     \
  X(fallocate)                 \
  X(flock)                     \
  X(fopen)                     \
  X(fstat)                     \
  X(fstatfs)                   \
  X(lstat)                     \
  X(mkdir)                     \
  X(mkdtemp)                   \
  X(mkostemp)                  \
  X(mkostemps)                 \
  X(open)                      \
  X(opendir)                   \
  X(poll)                      \
  X(posix_spawn)               \
  X(read)                      \
  X(readdir)                   \
  X(realpath)                  \
  X(rename)                    \
  X(send)                      \
  X(socketpair)                \
  X(stat)                      \
  X(statfs)                    \
  X(statvfs)                   \
  X(unlink)                    \
  X(unlinkat)                  \
  X(utimensat)                 \
  X(write)

enum class FileFunction {
#define DALA_FILE_NAME(name) name,
  DALA_FILE_FUNCTIONS(DALA_FILE_NAME)
#undef DALA_FILE_NAME
};

struct FileFaultSpec {
  FileFunction function;
  const char* name;
};
const std::vector<FileFaultSpec>& file_fault_specs();

class FileFaults {
 public:
  // From now on the nth call (1 is the next) that the library makes of the function fails, once.
  // The call has no other effect, except that `close` does close.
  static void arm(FileFunction function, long nth, int error);
  // Removes the fault; returns whether it occurred.
  static bool disarm();

  // The number of calls by the library since the start.
  static long calls(FileFunction function);
};

}  // namespace dala::test
