#include "runtime/memory/memory_pool.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "runtime/device/device.hpp"
#include "runtime/error.hpp"
#include "runtime/memory/host_memory.hpp"

namespace dala {
namespace {

constexpr size_t kSmallStep = 256;
constexpr size_t kPage = 4096;
constexpr uint64_t kKeepAtMost = 512ull << 20;
constexpr uint64_t kCollectFrom = 256ull << 20;

size_t round_up(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

// Four size classes per power of two: at most a quarter of a block is wasted, an eighth on average.
size_t size_class(size_t bytes) {
  if (bytes <= kPage) return round_up(bytes, kSmallStep);
  const size_t step = std::max(kPage, std::bit_floor(bytes) / 4);
  return round_up(bytes, step);
}

}  // namespace

MemoryPool::MemoryPool(const Device& device, uint64_t limit)
    : device_(device),
      limit_(limit == 0 ? device.info().global_memory : limit),
      counts_shared_(limit != 0 || device.shares_host_memory()),
      keep_(std::min(kKeepAtMost, limit_ / 4)),
      collect_from_(std::min(kCollectFrom, limit_ / 4)),
      collect_at_(collect_from_) {
  info_.limit = limit_;
}

MemoryPool::~MemoryPool() { close(); }

StoragePtr MemoryPool::allocate(size_t bytes) {
  reserve(bytes);
  try {
    if (bytes == 0) return std::make_shared<Storage>(shared_from_this(), Block{}, 0);
    const size_t capacity = size_class(bytes);
    {
      std::lock_guard lock(mutex_);
      const auto found = free_.find(capacity);
      if (found != free_.end() && !found->second.empty()) {
        Block block = std::move(found->second.back());
        found->second.pop_back();
        info_.pooled -= capacity;
        return std::make_shared<Storage>(shared_from_this(), std::move(block), bytes);
      }
    }
    return std::make_shared<Storage>(shared_from_this(), create_block(capacity), bytes);
  } catch (...) {
    unreserve(bytes);
    throw;
  }
}

StoragePtr MemoryPool::borrow(const void* data, size_t bytes, std::shared_ptr<void> owner,
                              size_t owned, bool replaces) {
  const size_t rest = owned > bytes ? owned - bytes : 0;
  SharedHold held;
  {
    std::lock_guard lock(mutex_);
    need_room_locked(replaces ? rest : bytes + rest);
    make_room_locked(bytes + rest);
    info_.in_use += bytes;
    info_.peak = std::max(info_.peak, info_.in_use);
    held = SharedHold(rest);
  }
  try {
    Block block;
    block.host = static_cast<std::byte*>(const_cast<void*>(data));
    block.capacity = bytes;
    block.owner = std::move(owner);
    cl_int status = CL_SUCCESS;
    block.memory = ClMem(cl().clCreateBuffer(
        device_.context(), CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, bytes, block.host, &status));
    check(status, "clCreateBuffer");
    return std::make_shared<Storage>(shared_from_this(), std::move(block), bytes, std::move(held));
  } catch (...) {
    unreserve(bytes);
    throw;
  }
}

SharedHold MemoryPool::hold(size_t bytes) {
  std::lock_guard lock(mutex_);
  need_room_locked(bytes);
  make_room_locked(bytes);
  return SharedHold(bytes);
}

StoragePtr MemoryPool::part(const StoragePtr& whole, size_t offset, size_t bytes) {
  Block block;  // capacity 0: not kept for reuse
  if (bytes > 0) {
    if (whole->host() != nullptr) block.host = whole->host() + offset;
    const cl_buffer_region region{offset, bytes};
    cl_int status = CL_SUCCESS;
    block.memory = ClMem(cl().clCreateSubBuffer(whole->memory(), CL_MEM_READ_WRITE,
                                                CL_BUFFER_CREATE_TYPE_REGION, &region, &status));
    check(status, "clCreateSubBuffer");
  }
  return std::make_shared<Storage>(whole, std::move(block), offset, bytes);
}

MemoryInfo MemoryPool::info() const {
  std::lock_guard lock(mutex_);
  MemoryInfo info = info_;
  info.shared = shared_bytes();
  return info;
}

bool MemoryPool::should_collect() {
  std::lock_guard lock(mutex_);
  if (info_.in_use < collect_at_ / 4) collect_at_ = std::max(collect_from_, 2 * info_.in_use);
  if (info_.in_use < collect_at_) return false;
  collect_at_ = 2 * info_.in_use;
  return true;
}

void MemoryPool::let_go(std::shared_ptr<void> object) {
  reaper_.post([object = std::move(object)] {});
}

void MemoryPool::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    trim_locked(0);
  }
  reaper_.stop();
}

void MemoryPool::reserve(size_t bytes) {
  const DeviceInfo& device = device_.info();
  if (bytes > device.max_allocation) {
    throw Error(Reason::out_of_memory,
                text("a buffer of ", bytes, " bytes is beyond the ", device.max_allocation,
                     " bytes this device allows for one buffer"));
  }
  std::lock_guard lock(mutex_);
  need_room_locked(bytes);
  make_room_locked(bytes);
  info_.in_use += bytes;
  info_.peak = std::max(info_.peak, info_.in_use);
}

uint64_t MemoryPool::taken_locked() const {
  return info_.in_use + (counts_shared_ ? shared_bytes() : 0);
}

void MemoryPool::need_room_locked(size_t bytes) const {
  if (bytes <= limit_ && taken_locked() <= limit_ - bytes) return;
  std::string held;
  if (counts_shared_ && shared_bytes() > 0) held = text(", binaries hold ", shared_bytes());
  throw Error(Reason::out_of_memory, text("no room for ", bytes, " bytes: ", info_.in_use, " of ",
                                          limit_, " bytes are in use", held));
}

// Memory in use and pooled memory share the device.
void MemoryPool::make_room_locked(size_t bytes) {
  const uint64_t needed = taken_locked() + bytes;
  if (needed + info_.pooled > limit_) trim_locked(needed < limit_ ? limit_ - needed : 0);
}

void MemoryPool::hand_over(size_t bytes) noexcept {
  std::lock_guard lock(mutex_);
  info_.in_use -= bytes;
  add_shared(bytes);
}

void MemoryPool::unreserve(size_t bytes) noexcept {
  std::lock_guard lock(mutex_);
  info_.in_use -= bytes;
}

Block MemoryPool::create_block(size_t capacity) {
  Block block;
  block.capacity = capacity;
  {
    const std::lock_guard lock(mutex_);
    ++info_.allocations;
  }
  cl_mem_flags flags = CL_MEM_READ_WRITE;
  if (device_.shares_host_memory()) {
    if (!host_has_room(capacity)) {
      std::lock_guard lock(mutex_);
      trim_locked(0);
    }
    need_host_room(capacity);
    const HostMemory host = allocate_host(capacity);
    if (host.data == nullptr) {
      throw Error(Reason::out_of_memory, text("the system has no room for ", capacity, " bytes"));
    }
    block.host = host.data;
    block.zeroed = host.zeroed;
    flags |= CL_MEM_USE_HOST_PTR;
  }
  for (int attempt = 0;; ++attempt) {
    cl_int status = CL_SUCCESS;
    block.memory =
        ClMem(cl().clCreateBuffer(device_.context(), flags, capacity, block.host, &status));
    if (status == CL_SUCCESS) return block;
    if (attempt == 0) {
      // Release the pooled blocks on this thread, and try once more.
      std::map<size_t, std::vector<Block>> kept;
      {
        std::lock_guard lock(mutex_);
        kept.swap(free_);
        info_.pooled = 0;
      }
      continue;
    }
    check(status, "clCreateBuffer");
  }
}

void MemoryPool::recycle(Block block) noexcept {
  if (block.capacity == 0) return;
  if (block.owner == nullptr) {
    std::lock_guard lock(mutex_);
    const size_t capacity = block.capacity;
    const bool room = taken_locked() + info_.pooled + capacity <= limit_;
    if (!closed_ && room && capacity <= keep_) {
      trim_locked(keep_ - capacity);
      block.zeroed = false;
      try {
        free_[capacity].push_back(std::move(block));
        info_.pooled += capacity;
        return;
      } catch (const std::exception&) {
        // Without memory for the bookkeeping, the block is not pooled.
      }
    }
  }
  let_go(std::move(block));
}

// Unmapping and releasing can take milliseconds, and this may be a scheduler thread, so the reaper
// does it.
void MemoryPool::let_go(Block block) noexcept {
  try {
    let_go(std::make_shared<Block>(std::move(block)));
  } catch (const std::exception&) {
    // Without memory for the job, the block is released on this thread.
  }
}

void MemoryPool::trim_locked(uint64_t keep_bytes) noexcept {
  // Largest first: one large block frees the most memory.
  while (info_.pooled > keep_bytes && !free_.empty()) {
    auto largest = std::prev(free_.end());
    if (largest->second.empty()) {
      free_.erase(largest);
      continue;
    }
    Block block = std::move(largest->second.back());
    largest->second.pop_back();
    info_.pooled -= block.capacity;
    let_go(std::move(block));
  }
}

}  // namespace dala
