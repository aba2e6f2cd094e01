#include "runtime/storage.hpp"

#include <utility>

#include "runtime/command.hpp"
#include "runtime/memory_pool.hpp"

namespace dala {

Storage::Storage(std::shared_ptr<MemoryPool> pool, Block block, size_t bytes)
    : pool_(std::move(pool)), block_(std::move(block)), bytes_(bytes) {}

Storage::Storage(std::shared_ptr<Storage> whole, Block block, size_t offset, size_t bytes)
    : pool_(whole->pool_),
      whole_(std::move(whole)),
      block_(std::move(block)),
      offset_(offset),
      bytes_(bytes),
      counted_(false) {}

Storage::~Storage() {
  disown();
  pool_->recycle(std::move(block_));
}

void Storage::disown() noexcept {
  if (counted_.exchange(false)) pool_->unreserve(bytes_);
}

}  // namespace dala
