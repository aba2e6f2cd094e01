// Which OpenCL devices there are, which one is used, and why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/cl_api.hpp"
#include "runtime/config.hpp"

namespace dala {

// Decides which of two kernel families runs: one work item per strip for CPUs, one per element
// for everything else.
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
  uint64_t alignment = 0;  // bytes, of where a part of a buffer may begin
  uint64_t local_memory = 0;
  uint64_t max_work_group = 0;
  bool fp64 = false;
  bool available = false;    // with a compiler: usable
  std::vector<int> threads;  // that run its kernels, where it is a CPU and they are known
};

struct PlatformReport {
  std::string name;
  std::string version;
  std::string problem;  // why it offers nothing, or empty
  std::vector<DeviceInfo> devices;
};

// Everything that can be seen, including what is broken.
struct Survey {
  std::string problem;  // why there is no platform at all, or empty
  std::vector<PlatformReport> platforms;
};
Survey survey();

struct Choice {
  DeviceInfo info;
  std::string why;  // a sentence for people
};
// Applies `config.device`; throws `no_device` saying what was seen and what to install.
Choice choose(const Survey& survey, const std::string& wish);

class Device {
 public:
  Device(const Choice& choice, const Config& config);

  const DeviceInfo& info() const { return info_; }
  const std::string& why() const { return why_; }
  DeviceClass device_class() const { return class_; }
  cl_context context() const { return context_.get(); }
  // Commands here may overlap; order comes from events alone.
  cl_command_queue queue() const { return queue_.get(); }
  // In order, for libraries that enqueue by themselves.
  cl_command_queue call_queue() const { return call_queue_.get(); }
  // Kernels work directly on host memory, so a binary can be a buffer and the other way round.
  bool shares_host_memory() const { return shares_host_memory_; }
  // Asking for a program's binary makes the driver compile all its kernels anew. PoCL does that,
  // and has a kernel cache of its own.
  bool binaries_are_costly() const;
  // Compiled kernels are libraries in a folder, which the driver loads at launches. PoCL, again.
  bool loads_kernels_from_files() const;
  // Kernels are compiled when they are first launched with work-groups of some size. PoCL, again.
  bool compiles_at_launch() const;
  // A kernel is loaded again for a grid wider than all before, see grid_growth.hpp. PoCL, too.
  bool reloads_for_wider_grids() const;
  // Kernels see memory at the addresses where the host does.
  bool sees_host_addresses() const;
  // Commands run only while somebody waits for them, and callbacks may never come. So it is with
  // the simulator Oclgrind.
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
};

}  // namespace dala
