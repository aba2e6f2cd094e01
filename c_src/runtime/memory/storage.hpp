// A piece of device memory and its hazards: its last writer, the readers since, and whether an
// Erlang binary shows it. Buffers, commands and binaries share ownership; the last owner returns
// the memory to the pool.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/device/cl_api.hpp"
#include "runtime/memory/shared_memory.hpp"

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
  size_t capacity = 0;          // 0: a sub-range of another block
  bool zeroed = false;          // known to be all zeros
  std::shared_ptr<void> owner;  // set for borrowed memory, which is read-only
};

class Storage {
 public:
  // `rest` accounts for further bytes that the block's owner keeps alive.
  Storage(std::shared_ptr<MemoryPool> pool, Block block, size_t bytes, SharedHold rest = {});
  // A sub-range of `whole`, which it keeps alive; it is not counted again.
  Storage(std::shared_ptr<Storage> whole, Block block, size_t offset, size_t bytes);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  cl_mem memory() const { return block_.memory.get(); }  // null when empty
  std::byte* host() const { return block_.host; }
  size_t bytes() const { return bytes_; }
  bool zeroed() const { return block_.zeroed; }
  // The storage that this is a part of, or itself: parts of one whole may overlap.
  const Storage& whole() const { return whole_ == nullptr ? *this : *whole_; }
  size_t offset() const { return offset_; }

  // Read-only: borrowed, shown by a binary, or snapshotted. A write needs another Storage.
  bool exported() const { return shown() || pins_.load() > 0; }
  bool shown() const { return block_.owner != nullptr || exports_.load() > 0; }
  void pin() { pins_.fetch_add(1); }
  void unpin() noexcept { pins_.fetch_sub(1); }
  void add_export() { exports_.fetch_add(1); }
  void drop_export() noexcept { exports_.fetch_sub(1); }

  // Moves these bytes from `in_use` to `shared`.
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

  // Hazards, guarded by the scheduler's lock. Finished commands hold no memory, so a reference
  // cycle through them lasts no longer than the command.
  std::shared_ptr<Command> writer_;
  std::vector<std::shared_ptr<Command>> readers_;
  size_t prune_readers_at_ = 32;
};

using StoragePtr = std::shared_ptr<Storage>;

}  // namespace dala
