// Makes the tests' device appear smaller than it is, and collects the programs they build.
//
// Both intercept OpenCL functions: queries return the limits; a launch, a program or a buffer that
// exceeds them fails with the code of a device of that size.
#pragma once

#include <cstdint>
#include <string>

namespace dala::test {

// 0 and the other defaults leave the device as it is.
struct DeviceLimits {
  uint64_t group = 0;      // most items of a work-group
  uint64_t local = 0;      // bytes of local memory
  uint64_t alignment = 0;  // in bytes, of the origin of a sub-buffer
  bool fp64 = true;
  bool in_order = false;  // queues run one command after the other
};

// As text: "group=8 local=1024 alignment=512 fp64=0 in_order=1". Throws std::invalid_argument.
DeviceLimits limits_of(const std::string& text);

// The current limits.
DeviceLimits limits_now();

// Imposes limits for its lifetime. An engine reads them when it is created.
class ImposedLimits {
 public:
  explicit ImposedLimits(const DeviceLimits& limits);
  ~ImposedLimits();
  ImposedLimits(const ImposedLimits&) = delete;
  ImposedLimits& operator=(const ImposedLimits&) = delete;

 private:
  DeviceLimits before_;
};

// From now on, writes the source of every program built to a file in this folder, with its build
// options as a comment in the first line.
void collect_programs(const std::string& folder);

}  // namespace dala::test
