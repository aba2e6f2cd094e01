// OpenCL programs: built from source once, kept in memory by (source, options), and on disk as
// the driver's binary by (source, options, device, driver). A damaged file means a new build.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "runtime/cl_api.hpp"
#include "runtime/error.hpp"
#include "runtime/grid_growth.hpp"

namespace dala {

class Device;

class Program {
 public:
  // `compiled` counts the programs that were built from source.
  Program(const Device& device, std::string source, std::string options, std::string disk_path,
          std::atomic<uint64_t>& compiled);

  // Builds, unless that has happened. Takes seconds: for worker threads only. Throws
  // `build_failed` with the compiler's log, again on every later call.
  void build();
  // The same, from source even when a binary is on disk: argument information needs it.
  void build_from_source();

  bool ready() const { return ready_.load(std::memory_order_acquire); }

  // A kernel of a ready program. It is shared: set arguments and enqueue under one lock.
  struct Kernel {
    ClKernel object;
    std::map<std::array<size_t, 3>, GridGrowth> growth;  // by the size of work-groups
  };
  Kernel& kernel(const std::string& entry);
  // A kernel object of its own.
  ClKernel create_kernel(const std::string& entry) const;

  cl_program get() const { return program_.get(); }

  // Makes sure that the binary is on disk, where the next process finds it. That has happened
  // while building, except for drivers that take seconds for it. For worker threads only.
  void save();
  bool saved() const { return saved_.load(); }

  // How long its work takes, learned from finished commands; used to keep the device's queue
  // short in time rather than in number.
  double estimate(double work) const;  // in nanoseconds
  void learn(double nanoseconds, double work);
  bool measured() const { return measured_.load(std::memory_order_relaxed); }

 private:
  void build_locked(bool allow_disk);
  bool load_from_disk();
  ClProgram compile() const;
  void write_binary(const ClProgram& program);

  const Device& device_;
  const std::string source_;
  const std::string options_;
  const std::string disk_path_;
  std::atomic<uint64_t>& compiled_;
  std::mutex mutex_;  // one build at a time
  std::optional<Error> failure_;
  std::atomic<bool> ready_{false};
  std::atomic<bool> saved_{true};  // on disk, or nothing to save yet
  std::atomic<bool> measured_{false};
  std::atomic<double> rate_{0.25};  // nanoseconds per unit of work, beyond what any launch takes
  ClProgram program_;
  std::map<std::string, Kernel> kernels_;
};

class ProgramCache {
 public:
  ProgramCache(const Device& device, std::string folder);

  // The program for this source and these build options, ready or not.
  std::shared_ptr<Program> get(std::string_view source, const std::string& options);

  // How many were built from source so far.
  uint64_t compiled() const { return compiled_.load(); }

 private:
  const Device& device_;
  const std::string folder_;
  std::atomic<uint64_t> compiled_{0};
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Program>> programs_;
};

}  // namespace dala
