// Device memory in size classes, counted to the byte. Freed blocks are kept for the next allocation
// of their class. When the device is full, they are released and the allocation is retried before
// it fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device/cl_api.hpp"
#include "runtime/memory/storage.hpp"
#include "runtime/process/worker.hpp"

namespace dala {

class Device;

struct MemoryInfo {
  uint64_t in_use = 0;       // bytes of live buffers and scratch
  uint64_t peak = 0;         // high-water mark of `in_use`
  uint64_t pooled = 0;       // bytes kept for reuse
  uint64_t shared = 0;       // bytes of binaries, not part of `in_use`; see shared_memory.hpp
  uint64_t limit = 0;        // for the sum of `in_use` and `shared`
  uint64_t allocations = 0;  // requests to the driver or the system
};

class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  // A `limit` of 0 means the device's own memory.
  MemoryPool(const Device& device, uint64_t limit);
  ~MemoryPool();

  // Memory with undefined content. Throws `out_of_memory`.
  StoragePtr allocate(size_t bytes);
  // Memory that `owner` keeps alive and that is never written. The owner keeps `owned` bytes alive;
  // those beyond `bytes` count as shared. Throws `out_of_memory`, unless the memory replaces as
  // many bytes of the same buffer (`replaces`).
  StoragePtr borrow(const void* data, size_t bytes, std::shared_ptr<void> owner, size_t owned = 0,
                    bool replaces = false);
  // Accounts for host memory that the caller hands out. Throws `out_of_memory`.
  SharedHold hold(size_t bytes);
  // A sub-range of memory from `allocate`; `offset` is a multiple of the device's alignment.
  // Hazards between commands are tracked per part, so commands that use overlapping parts must use
  // the same part; within a command, the stages' hazards are tracked by byte range.
  StoragePtr part(const StoragePtr& whole, size_t offset, size_t bytes);

  MemoryInfo info() const;

  // Whether the calling process should collect garbage. The VM counts a buffer as a few words, so a
  // process that creates large buffers would reach the limit before its first collection. True once
  // each time the memory in use doubles.
  bool should_collect();

  // Releases the reference on the reaper's thread.
  void let_go(std::shared_ptr<void> object);

  // Stops pooling: blocks released later go straight back to the driver.
  void close();

 private:
  friend class Storage;

  Block create_block(size_t capacity);
  void reserve(size_t bytes);  // adds to `in_use`, or throws `out_of_memory`
  void unreserve(size_t bytes) noexcept;
  void hand_over(size_t bytes) noexcept;      // from `in_use` to `shared`
  uint64_t taken_locked() const;              // what counts against the limit
  void need_room_locked(size_t bytes) const;  // throws `out_of_memory`
  void make_room_locked(size_t bytes);
  void recycle(Block block) noexcept;
  void trim_locked(uint64_t keep_bytes) noexcept;
  void let_go(Block block) noexcept;

  const Device& device_;
  const uint64_t limit_;
  // Host memory does not reduce the memory of a device that has its own; it only counts against a
  // limit that the user has set.
  const bool counts_shared_;
  const uint64_t keep_;          // most bytes to pool
  const uint64_t collect_from_;  // below this many bytes in use, no collection is requested
  mutable std::mutex mutex_;
  uint64_t collect_at_;
  MemoryInfo info_;
  bool closed_ = false;
  std::map<size_t, std::vector<Block>> free_;  // by capacity
  Worker reaper_{"dala_reaper", 1};
};

}  // namespace dala
