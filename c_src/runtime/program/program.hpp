// OpenCL programs: built from source once, cached in memory by (source, options), and on disk as
// the driver's binary by (source, options, device, driver). A damaged file causes a new build.
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

#include "runtime/device/cl_api.hpp"
#include "runtime/error.hpp"
#include "runtime/program/compile_request.hpp"
#include "runtime/program/grid_growth.hpp"
#include "runtime/program/group_function.hpp"

namespace dala {

class Compiler;
class Device;
class DiskCache;
class KernelStore;

// Where compiled programs persist between VMs.
struct ProgramFiles {
  std::shared_ptr<DiskCache> binaries;
  std::shared_ptr<KernelStore> kernels;  // of drivers that compile at launch; otherwise null
};

class Program {
 public:
  // `key` names the program on disk. `compiled` counts programs built from source. A program with a
  // `compiler` is foreign: its source came from a user, and is compiled in a separate process
  // first.
  Program(const Device& device, std::string source, std::string options, std::string key,
          ProgramFiles files, std::atomic<uint64_t>& compiled, Compiler* compiler = nullptr);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const std::string& key() const { return key_; }

  // Builds the program, unless it is built. Takes seconds: for worker threads only. Throws
  // `build_failed`. If the source is at fault, the error has the compiler's log, and every later
  // call throws it again; otherwise, as when disk space has run out, the next call retries.
  void build();
  // Builds from source even if a binary is on disk, for argument information. A foreign program is
  // also compiled for the given specialisations.
  void build_from_source(const std::vector<Specialisation>& specialisations = {});

  bool ready() const { return ready_.load(std::memory_order_acquire); }

  // Whether the source came from a user.
  bool foreign() const { return compiler_ != nullptr; }
  // Whether the program is built, and a launch over this range would not make the driver compile
  // foreign code.
  bool ready_for(const std::string& entry, const Range& range) const;
  // Builds whatever `ready_for` needs.
  void build_for(const std::string& entry, const Range& range);

  // A kernel of a program that is built. It is shared, so arguments are set and the kernel enqueued
  // under one lock.
  struct Kernel {
    ClKernel object;
    std::map<std::array<size_t, 3>, GridGrowth> growth;  // by work-group size
  };
  Kernel& kernel(const std::string& entry);
  // An unshared kernel object.
  ClKernel create_kernel(const std::string& entry) const;

  // The compiled function for such launches; null if it is not known yet, or the driver has none.
  // Thread-safe; valid for the program's lifetime.
  GroupFunction group_function(const std::string& entry, const Range& range) const;
  // Looks for the function. If such a launch has ended (`launched`) and there is none, there never
  // will be. For worker threads only.
  void find_group_function(const std::string& entry, const Range& range, bool launched = false);
  // Whether the search is over.
  bool knows_group_function(const std::string& entry, const Range& range) const;

  cl_program get() const { return program_.get(); }

  // Ensures that the binary is on disk for the next process. Building does so, except with drivers
  // that take seconds for it. For worker threads only.
  void save();
  bool saved() const { return saved_.load(); }
  // Removes the program from disk, permanently unless it is built again. For worker threads only.
  void discard();

  // Estimated device time, learned from finished commands. It bounds the device's queue by time
  // instead of by the number of commands.
  double launch_time() const;  // in nanoseconds, as below
  double time_of(double work) const { return rate_.load(std::memory_order_relaxed) * work; }
  void learn(double nanoseconds, double work);
  bool measured() const { return measured_.load(std::memory_order_relaxed); }
  // Whether about as much work has been measured; the time of some kernels grows superlinearly.
  bool measured(double work) const;

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
  std::set<Specialisation> specialisations_;  // compiled by the driver
  std::optional<Error> failure_;
  mutable std::mutex libraries_mutex_;
  std::map<Specialisation, std::unique_ptr<GroupLibrary>> libraries_;  // null: none exists
  std::atomic<bool> has_libraries_{false};
  std::atomic<bool> ready_{false};
  std::atomic<bool> saved_{true};  // on disk, or nothing to save yet
  std::atomic<bool> measured_{false};
  std::atomic<double> most_work_{0};  // of all measured commands
  std::atomic<double> rate_{0.25};    // nanoseconds per unit of work, without the fixed cost
  ClProgram program_;
  std::map<std::string, Kernel> kernels_;
};

class ProgramCache {
 public:
  // `compiler` compiles foreign programs; without it they are built like any other.
  ProgramCache(const Device& device, ProgramFiles files, Compiler* compiler = nullptr);

  // The program for this source and these build options, built or not.
  std::shared_ptr<Program> get(std::string_view source, const std::string& options,
                               bool foreign = false);

  // Removes the program from disk if no other user of it is left. For worker threads only.
  void discard(const std::shared_ptr<Program>& program);

  // The number of programs built from source.
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
