// Statistics of the device while a profile is active: per kernel, the number of launches, the time
// they ran and waited on the queue, and the bytes and operations.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "runtime/device/cl_api.hpp"

namespace dala {

struct KernelProfile {
  uint64_t count = 0;
  double device_ns = 0;  // execution time
  double queue_ns = 0;   // from enqueueing to the start
  double bytes = 0;      // of its operands
  double operations = 0;
};

struct BoundStage;

class Profile {
 public:
  // Adds the times of a finished stage. Thread-safe.
  void add(const BoundStage& stage);

  std::map<std::string, KernelProfile> kernels() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, KernelProfile> kernels_;
};

// One of an event's timestamps, in nanoseconds; 0 if the driver has none.
cl_ulong event_time(cl_event event, cl_profiling_info moment);

}  // namespace dala
