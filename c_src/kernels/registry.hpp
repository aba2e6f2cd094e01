// All kernels by name: the built-in ones, collected from their families, and those registered at
// run time, including models.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/descriptor.hpp"

namespace dala {

// Each family adds its descriptors here; the list in registry.cpp is the only one.
using Descriptors = std::vector<Descriptor>;

class Registry {
 public:
  Registry();

  // Throws `unknown_kernel`, with the most similar names.
  std::shared_ptr<const Descriptor> find(const std::string& name) const;
  bool has(const std::string& name) const;
  std::vector<std::shared_ptr<const Descriptor>> list() const;  // sorted by name

  // Throws `invalid_param` for the name of a built-in kernel, which cannot be replaced.
  void need_free_name(const std::string& name) const;
  // Adds or replaces a custom kernel; the name must not be that of a built-in one.
  void add(Descriptor descriptor);
  bool remove(const std::string& name);  // custom kernels only
  void remove_gone();

  // Changes whenever a kernel is added or removed, which invalidates earlier plans.
  uint64_t generation() const { return generation_.load(); }

 private:
  std::atomic<uint64_t> generation_{0};
  bool is_gone(const Descriptor& descriptor) const { return descriptor.gone && descriptor.gone(); }

  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Descriptor>> kernels_;
};

}  // namespace dala
