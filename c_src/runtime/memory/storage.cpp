#include "runtime/memory/storage.hpp"

#include <utility>

#include "runtime/memory/host_memory.hpp"
#include "runtime/memory/memory_pool.hpp"
#include "runtime/schedule/command.hpp"

namespace dala {

Block::~Block() {
  memory = ClMem();  // before the memory under it
  if (owner == nullptr && host != nullptr && capacity > 0) free_host(host, capacity);
}

void Block::swap(Block& other) noexcept {
  std::swap(memory, other.memory);
  std::swap(host, other.host);
  std::swap(capacity, other.capacity);
  std::swap(zeroed, other.zeroed);
  std::swap(owner, other.owner);
}

Storage::Storage(std::shared_ptr<MemoryPool> pool, Block block, size_t bytes, SharedHold rest)
    : pool_(std::move(pool)), block_(std::move(block)), bytes_(bytes), rest_(std::move(rest)) {}

Storage::Storage(std::shared_ptr<Storage> whole, Block block, size_t offset, size_t bytes)
    : pool_(whole->pool_),
      whole_(std::move(whole)),
      block_(std::move(block)),
      offset_(offset),
      bytes_(bytes),
      account_(Account::none) {}

Storage::~Storage() {
  if (account_ == Account::in_use) pool_->unreserve(bytes_);
  if (account_ == Account::shared) drop_shared(bytes_);
  pool_->recycle(std::move(block_));
}

void Storage::disown() noexcept {
  Account in_use = Account::in_use;
  if (account_.compare_exchange_strong(in_use, Account::shared)) pool_->hand_over(bytes_);
}

}  // namespace dala
