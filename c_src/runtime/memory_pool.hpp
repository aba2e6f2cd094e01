// Device memory in size classes, counted to the byte. Freed blocks are kept for the next
// allocation of their class; when the device is full they are given back and the allocation is
// tried again before anybody hears of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/cl_api.hpp"
#include "runtime/storage.hpp"
#include "runtime/worker.hpp"

namespace dala {

class Device;

struct MemoryInfo {
  uint64_t in_use = 0;       // bytes of live buffers and scratch
  uint64_t peak = 0;         // the most that `in_use` has been
  uint64_t pooled = 0;       // bytes kept for reuse
  uint64_t limit = 0;        // what in_use may reach
  uint64_t allocations = 0;  // how often the driver or system was asked for memory
};

class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  // `limit` of 0 is the device's own memory.
  MemoryPool(const Device& device, uint64_t limit);
  ~MemoryPool();

  // Memory with undefined content. Throws `out_of_memory`.
  StoragePtr allocate(size_t bytes);
  // Memory that `owner` keeps alive and that is only ever read.
  StoragePtr borrow(const void* data, size_t bytes, std::shared_ptr<void> owner);
  // Some bytes of memory that `allocate` gave, from a multiple of the device's alignment on.
  // Commands that use parts of the same memory are kept apart only where they use the same part;
  // within a command, stages are wherever parts overlap.
  StoragePtr part(const StoragePtr& whole, size_t offset, size_t bytes);

  MemoryInfo info() const;

  // Stops keeping blocks: those of later releases go straight back to the driver.
  void close();

 private:
  friend class Storage;

  Block create_block(size_t capacity);
  void reserve(size_t bytes);  // counts, or throws `out_of_memory`
  void unreserve(size_t bytes) noexcept;
  void recycle(Block block) noexcept;
  void trim_locked(uint64_t keep_bytes);
  void discard(Block block) noexcept;

  const Device& device_;
  const uint64_t limit_;
  const uint64_t keep_;  // most bytes to hold for reuse
  mutable std::mutex mutex_;
  MemoryInfo info_;
  bool closed_ = false;
  std::map<size_t, std::vector<Block>> free_;  // by capacity
  Worker reaper_{"dala_reaper", 1};
};

}  // namespace dala
