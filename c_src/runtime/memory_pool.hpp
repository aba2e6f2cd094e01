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
  uint64_t shared = 0;       // bytes of binaries, beside what is in use; see shared_memory.hpp
  uint64_t limit = 0;        // what in_use and shared may reach together
  uint64_t allocations = 0;  // how often the driver or system was asked for memory
};

class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  // `limit` of 0 is the device's own memory.
  MemoryPool(const Device& device, uint64_t limit);
  ~MemoryPool();

  // Memory with undefined content. Throws `out_of_memory`.
  StoragePtr allocate(size_t bytes);
  // Memory that `owner` keeps alive and that is only ever read. `owned` bytes live as long as the
  // owner; those beside `bytes` count as shared. Throws `out_of_memory`, unless it takes the place
  // of as much memory (`replaces`).
  StoragePtr borrow(const void* data, size_t bytes, std::shared_ptr<void> owner, size_t owned = 0,
                    bool replaces = false);
  // Counts memory of the host that the caller hands out. Throws `out_of_memory`.
  SharedHold hold(size_t bytes);
  // Some bytes of memory that `allocate` gave, from a multiple of the device's alignment on.
  // Commands that use parts of the same memory are kept apart only where they use the same part;
  // within a command, stages are wherever parts overlap.
  StoragePtr part(const StoragePtr& whole, size_t offset, size_t bytes);

  MemoryInfo info() const;

  // Whether so much memory is in use that a caller whose garbage keeps buffers alive should collect
  // it. The VM counts a buffer as a few words, so a process that makes large ones would reach the
  // limit before its first collection. True once each time the memory in use doubles.
  bool should_collect();

  // Drops what it is given on the thread that gives memory back.
  void let_go(std::shared_ptr<void> object);

  // Stops keeping blocks: those of later releases go straight back to the driver.
  void close();

 private:
  friend class Storage;

  Block create_block(size_t capacity);
  void reserve(size_t bytes);  // counts, or throws `out_of_memory`
  void unreserve(size_t bytes) noexcept;
  void hand_over(size_t bytes) noexcept;      // from in use to shared
  uint64_t taken_locked() const;              // of the limit
  void need_room_locked(size_t bytes) const;  // throws `out_of_memory`
  void make_room_locked(size_t bytes);
  void recycle(Block block) noexcept;
  void trim_locked(uint64_t keep_bytes) noexcept;
  void let_go(Block block) noexcept;

  const Device& device_;
  const uint64_t limit_;
  // Memory of the host does not take away from what a device with memory of its own has, only from
  // a limit that was asked for.
  const bool counts_shared_;
  const uint64_t keep_;          // most bytes to hold for reuse
  const uint64_t collect_from_;  // bytes in use below which no collection is worth its time
  mutable std::mutex mutex_;
  uint64_t collect_at_;
  MemoryInfo info_;
  bool closed_ = false;
  std::map<size_t, std::vector<Block>> free_;  // by capacity
  Worker reaper_{"dala_reaper", 1};
};

}  // namespace dala
