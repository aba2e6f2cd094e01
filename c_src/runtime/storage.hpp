// A piece of device memory and what the scheduler needs to know about it: who wrote it last, who
// reads it since, and whether an Erlang binary shows it. Shared by buffers, commands and binaries;
// the last one to let go returns it to the pool.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/cl_api.hpp"
#include "runtime/shared_memory.hpp"

namespace dala {

class MemoryPool;
struct Command;

// The raw memory under a Storage.
struct Block {
  Block() = default;
  Block(Block&& other) noexcept { swap(other); }
  Block& operator=(Block&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Block();

  void swap(Block& other) noexcept;

  ClMem memory;
  std::byte* host = nullptr;    // the same bytes, where the device shares host memory
  size_t capacity = 0;          // 0: a part of another block
  bool zeroed = false;          // never used, and known to be all zeros
  std::shared_ptr<void> owner;  // set: the memory is somebody else's and read-only
};

class Storage {
 public:
  // `rest` counts bytes beside these that the block's owner keeps alive.
  Storage(std::shared_ptr<MemoryPool> pool, Block block, size_t bytes, SharedHold rest = {});
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

  // Read-only: borrowed from its owner, shown by a binary, or part of a snapshot. A write needs
  // another Storage.
  bool exported() const { return shown() || pins_.load() > 0; }
  // Borrowed from its owner, or shown by a binary.
  bool shown() const { return block_.owner != nullptr || exports_.load() > 0; }
  void pin() { pins_.fetch_add(1); }
  void unpin() noexcept { pins_.fetch_sub(1); }
  void add_export() { exports_.fetch_add(1); }
  void drop_export() noexcept { exports_.fetch_sub(1); }

  // From now on these bytes count as shared, no longer as in use.
  void disown() noexcept;

 private:
  friend class Scheduler;

  enum class Account : uint8_t { none, in_use, shared };

  std::shared_ptr<MemoryPool> pool_;
  const std::shared_ptr<Storage> whole_;  // null unless this is a part
  Block block_;
  const size_t offset_ = 0;
  const size_t bytes_;
  const SharedHold rest_;
  std::atomic<int> exports_{0};
  std::atomic<int> pins_{0};  // snapshots of buffers
  std::atomic<Account> account_{Account::in_use};

  // Hazards, under the scheduler's lock. Finished commands hold no memory, so these references
  // close no cycle for longer than a command runs.
  std::shared_ptr<Command> writer_;
  std::vector<std::shared_ptr<Command>> readers_;
  size_t prune_readers_at_ = 32;
};

using StoragePtr = std::shared_ptr<Storage>;

}  // namespace dala
