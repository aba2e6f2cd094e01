// The compiled form of a kernel: a function in a shared library that executes one work-group. PoCL
// compiles every CPU kernel to such a library and calls the function from its own threads; a launch
// through its queue costs tens of microseconds, a call of the function nanoseconds.
//
// The ABI has been the same in every PoCL from 1.8 to 7.1: the function takes an array with a
// pointer to each argument's value, a context, and the index of the work-group. If a library or its
// function is not found, the kernel is launched through OpenCL.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace dala {

using GroupFunction = void (*)(uint8_t* arguments, uint8_t* context, size_t x, size_t y, size_t z);

// The launch parameters that the function can read. PoCL's own struct continues with the printf
// buffer, whose layout varies between versions; built-in kernels never print.
struct GroupContext {
  std::array<uint64_t, 3> groups{};
  std::array<uint64_t, 3> offset{};
  std::array<uint64_t, 3> local{};
  std::array<uint64_t, 23> rest{};
};

// A loaded library with the function of one kernel.
class GroupLibrary {
 public:
  // Null if the file does not exist, or does not have the function.
  static std::unique_ptr<GroupLibrary> open(const std::string& path, const std::string& entry);
  ~GroupLibrary();
  GroupLibrary(const GroupLibrary&) = delete;
  GroupLibrary& operator=(const GroupLibrary&) = delete;

  GroupFunction function() const { return function_; }

 private:
  GroupLibrary(void* handle, GroupFunction function) : handle_(handle), function_(function) {}

  void* const handle_;
  const GroupFunction function_;
};

// The library's path within its program's folder, for this work-group size and no global offset. A
// library may be specialised for small grids, see Specialisation.
std::string group_library_path(const std::string& entry, const std::array<size_t, 3>& local,
                               bool small_grid);

}  // namespace dala
