// A piece of device memory and what the scheduler needs to know about it: who wrote it last, who
// reads it since, and whether an Erlang binary shows it. Shared by buffers, commands and binaries;
// the last one to let go returns it to the pool.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/cl_api.hpp"

namespace dala {

class MemoryPool;
struct Command;

// The raw memory under a Storage.
struct Block {
  ClMem memory;
  std::byte* host = nullptr;  // the same bytes, where the device shares host memory
  size_t capacity = 0;
  bool zeroed = false;          // never used, and known to be all zeros
  std::shared_ptr<void> owner;  // set: the memory is somebody else's and read-only
};

class Storage {
 public:
  Storage(std::shared_ptr<MemoryPool> pool, Block block, size_t bytes);
  // A part of another one, which lives as long and does not count again.
  Storage(std::shared_ptr<Storage> whole, Block block, size_t offset, size_t bytes);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  cl_mem memory() const { return block_.memory.get(); }  // null when empty
  std::byte* host() const { return block_.host; }
  size_t bytes() const { return bytes_; }
  bool zeroed() const { return block_.zeroed; }
  // Where it lies: parts of the same whole may overlap.
  const Storage& whole() const { return whole_ == nullptr ? *this : *whole_; }
  size_t offset() const { return offset_; }

  // Read-only: borrowed from its owner, or shown by a binary. A write needs another Storage.
  bool exported() const { return block_.owner != nullptr || exports_.load() > 0; }
  void add_export() { exports_.fetch_add(1); }
  void drop_export() noexcept { exports_.fetch_sub(1); }

  // From now on these bytes do not count as in use.
  void disown() noexcept;

 private:
  friend class Scheduler;

  std::shared_ptr<MemoryPool> pool_;
  const std::shared_ptr<Storage> whole_;  // null unless this is a part
  Block block_;
  const size_t offset_ = 0;
  const size_t bytes_;
  std::atomic<int> exports_{0};
  std::atomic<bool> counted_{true};

  // Hazards, under the scheduler's lock. Finished commands hold no memory, so these references
  // close no cycle for longer than a command runs.
  std::shared_ptr<Command> writer_;
  std::vector<std::shared_ptr<Command>> readers_;
  size_t prune_readers_at_ = 32;
};

using StoragePtr = std::shared_ptr<Storage>;

}  // namespace dala
