// The context of a launch plan: the device, and programs from the embedded OpenCL C files. Nothing
// here builds a program or allocates device memory, so planning is cheap enough for a scheduler
// thread.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/descriptor.hpp"
#include "kernels/program_source.hpp"
#include "runtime/device/device.hpp"
#include "runtime/program/program.hpp"

namespace dala {

class Planner {
 public:
  Planner(const Device& device, ProgramCache& programs, std::string matmul)
      : device_(device), programs_(programs), matmul_(std::move(matmul)) {}

  const Device& device() const { return device_; }
  bool cpu_class() const { return device_.device_class() == DeviceClass::cpu; }
  // The implementation of matmul: "auto", "builtin" or "clblast".
  const std::string& matmul_backend() const { return matmul_; }

  // CPU class: the number of work-groups that keeps every core busy until the end.
  int64_t busy_groups() const {
    return std::max<int64_t>(8, 4 * static_cast<int64_t>(device_.info().compute_units));
  }
  // GPU class: items per group, a power of two of at most `wish` for which that much local memory
  // per item is available.
  size_t group_items(size_t wish, size_t local_bytes_per_item = 0) const;
  // Throws `unsupported` if the call computes in f64 and the device cannot.
  void need_arithmetic(const std::string& kernel, const Call& call) const;
  bool fp64() const { return device_.info().fp64; }

  // A program shared by several kernels: building one kernel costs about as much as building
  // twenty. `source` is called only for a new `key`. The files see CPU_CLASS, which is 1 on CPU
  // devices and 0 elsewhere.
  std::shared_ptr<Program> program(const std::string& key,
                                   const std::function<ProgramSource()>& source,
                                   const std::string& options = "");
  // A program of `prelude`, which is foreign code, followed by files.
  std::shared_ptr<Program> program(const std::string& prelude,
                                   const std::vector<std::string>& files, const Defines& defines,
                                   const std::string& options = "");
  // A user's own source, with the pragmas that built-in files have. Forgotten with its last kernel.
  std::shared_ptr<Program> foreign_program(const std::string& source, const std::string& options);
  // The next request for its source creates a new program.
  void forget(const std::shared_ptr<Program>& program);

 private:
  std::shared_ptr<Program> known(const std::string& key,
                                 const std::function<ProgramSource()>& source,
                                 const std::string& options);
  std::string text_of(const ProgramSource& source) const;

  const Device& device_;
  ProgramCache& programs_;
  std::string matmul_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Program>> known_;
};

}  // namespace dala
