// The OpenCL devices of this machine, which one is used, and why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/config.hpp"
#include "runtime/device/cl_api.hpp"

namespace dala {

// Selects the family of kernels: one work item per strip on CPUs, one per element elsewhere.
enum class DeviceClass { cpu, gpu };

struct DeviceInfo {
  cl_platform_id platform = nullptr;
  cl_device_id id = nullptr;
  std::string name;
  std::string vendor;
  std::string version;  // of OpenCL, as the device reports it
  std::string driver;
  std::string platform_name;
  std::string type;  // "cpu", "gpu", "accelerator" or "custom"
  uint64_t compute_units = 0;
  uint64_t global_memory = 0;
  uint64_t max_allocation = 0;
  uint64_t alignment = 0;  // in bytes, of the origin of a sub-buffer
  uint64_t local_memory = 0;
  uint64_t max_work_group = 0;
  bool fp64 = false;
  bool available = false;    // usable, and has a compiler
  std::vector<int> threads;  // that run its kernels; known only for CPU drivers
};

struct PlatformReport {
  std::string name;
  std::string version;
  std::string problem;  // why it has no devices, or empty
  std::vector<DeviceInfo> devices;
};

// All platforms and devices, including those that do not work.
struct Survey {
  std::string problem;  // why there is no platform at all, or empty
  std::vector<PlatformReport> platforms;
};
Survey survey();

struct Choice {
  DeviceInfo info;
  std::string why;  // a sentence for users
};
// Applies `config.device`. Throws `no_device` with the devices that were found and what to install.
Choice choose(const Survey& survey, const std::string& wish);

class Device {
 public:
  Device(const Choice& choice, const Config& config);

  const DeviceInfo& info() const { return info_; }
  const std::string& why() const { return why_; }
  DeviceClass device_class() const { return class_; }
  cl_context context() const { return context_.get(); }
  // Out of order: commands may overlap, and events alone define their order.
  cl_command_queue queue() const { return queue_.get(); }
  // In order, for libraries that enqueue commands themselves.
  cl_command_queue call_queue() const { return call_queue_.get(); }
  // Kernels work directly on host memory, so binaries and buffers can share it.
  bool shares_host_memory() const { return shares_host_memory_; }
  // Asking PoCL for a program's binary makes it compile all kernels again. It has a kernel cache of
  // its own, which is used instead.
  bool binaries_are_costly() const;
  // PoCL: compiled kernels are shared libraries in a folder, loaded at launch.
  bool loads_kernels_from_files() const;
  // PoCL: a kernel is compiled at its first launch with each work-group size.
  bool compiles_at_launch() const;
  // PoCL: a kernel is reloaded for a grid wider than all before; see grid_growth.hpp.
  bool reloads_for_wider_grids() const;
  // Device addresses are host addresses.
  bool sees_host_addresses() const;
  // The number of executor threads; 0 if compiled kernels cannot be called directly.
  size_t executor_threads() const { return executor_threads_; }
  bool pins_threads() const { return pins_threads_; }
  // Commands only make progress while a thread waits for them, and callbacks may never come, as
  // with the simulator Oclgrind.
  bool runs_only_when_awaited() const;

 private:
  bool probe_shared_memory() const;

  DeviceInfo info_;
  std::string why_;
  DeviceClass class_;
  ClContext context_;
  ClQueue queue_;
  ClQueue call_queue_;
  bool shares_host_memory_ = false;
  size_t executor_threads_ = 0;
  bool pins_threads_ = false;
};

}  // namespace dala
