// OpenCL programs: built from source once, kept in memory by (source, options), and on disk as
// the driver's binary by (source, options, device, driver). A damaged file means a new build.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/cl_api.hpp"
#include "runtime/compile_request.hpp"
#include "runtime/error.hpp"
#include "runtime/grid_growth.hpp"

namespace dala {

class Compiler;
class Device;
class DiskCache;
class KernelStore;

// Where programs are kept when the VM ends.
struct ProgramFiles {
  std::shared_ptr<DiskCache> binaries;
  std::shared_ptr<KernelStore> kernels;  // of drivers that compile at launches; otherwise null
};

class Program {
 public:
  // `key` names it on disk. `compiled` counts the programs that were built from source. With a
  // `compiler` the program is foreign: its source is not ours, and is compiled in a process of its
  // own first.
  Program(const Device& device, std::string source, std::string options, std::string key,
          ProgramFiles files, std::atomic<uint64_t>& compiled, Compiler* compiler = nullptr);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const std::string& key() const { return key_; }

  // Builds, unless that has happened. Takes seconds: for worker threads only. Throws
  // `build_failed`: with the compiler's log where the source is wrong, again on every later call;
  // otherwise, when there is no room for instance, the next call tries again.
  void build();
  // The same, from source even when a binary is on disk: argument information needs it. A foreign
  // program is compiled for these launches, too.
  void build_from_source(const std::vector<Specialisation>& specialisations = {});

  bool ready() const { return ready_.load(std::memory_order_acquire); }

  // The source is not ours.
  bool foreign() const { return compiler_ != nullptr; }
  // Ready, and a launch over this range leaves nothing for the driver to compile that is not ours.
  bool ready_for(const std::string& entry, const Range& range) const;
  // Builds what is missing for that.
  void build_for(const std::string& entry, const Range& range);

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
  // Removes it from disk, for good unless it is built again. For worker threads only.
  void discard();

  // How long its work takes, learned from finished commands; used to keep the device's queue
  // short in time rather than in number.
  double estimate(double work) const;  // in nanoseconds
  void learn(double nanoseconds, double work);
  bool measured() const { return measured_.load(std::memory_order_relaxed); }

 private:
  void build_locked(bool allow_disk, const std::vector<Specialisation>& specialisations);
  void compile_apart(const std::vector<Specialisation>& specialisations);
  bool load_from_disk();
  ClProgram compile() const;
  void write_binary(const ClProgram& program);
  std::string binary_name() const { return key_ + ".bin"; }

  const Device& device_;
  const std::string source_;
  const std::string options_;
  const std::string key_;
  const ProgramFiles files_;
  std::atomic<uint64_t>& compiled_;
  Compiler* const compiler_;  // of a foreign program
  std::mutex mutex_;          // one build at a time
  mutable std::mutex specialisations_mutex_;
  std::set<Specialisation> specialisations_;  // that the driver has
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
  // Foreign programs are compiled by `compiler`; without one they are no different.
  ProgramCache(const Device& device, ProgramFiles files, Compiler* compiler = nullptr);

  // The program for this source and these build options, ready or not.
  std::shared_ptr<Program> get(std::string_view source, const std::string& options,
                               bool foreign = false);

  // Has a program removed from disk, when nobody asks for it any more. For worker threads only.
  void discard(const std::shared_ptr<Program>& program);

  // How many were built from source so far.
  uint64_t compiled() const { return compiled_.load(); }

 private:
  const Device& device_;
  const ProgramFiles files_;
  Compiler* const compiler_;
  std::atomic<uint64_t> compiled_{0};
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Program>> programs_;
};

}  // namespace dala
