// What the device did while somebody was watching: per kernel, how often it ran, how long, how
// long it waited on the device's queue, and how much it moved and computed.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "runtime/cl_api.hpp"

namespace dala {

struct KernelProfile {
  uint64_t count = 0;
  double device_ns = 0;  // running
  double queue_ns = 0;   // from reaching the queue to running
  double bytes = 0;      // of its operands
  double operations = 0;
};

struct BoundStage;

class Profile {
 public:
  // Adds what the events of a finished stage tell. From any thread.
  void add(const BoundStage& stage);

  std::map<std::string, KernelProfile> kernels() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, KernelProfile> kernels_;
};

// One of an event's timestamps, in nanoseconds; 0 when the driver does not tell.
cl_ulong event_time(cl_event event, cl_profiling_info moment);

}  // namespace dala
