#include "runtime/memory_pool.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "runtime/device.hpp"
#include "runtime/error.hpp"
#include "runtime/host_memory.hpp"

namespace dala {
namespace {

constexpr size_t kSmallStep = 256;
constexpr size_t kPage = 4096;
constexpr uint64_t kKeepAtMost = 512ull << 20;
// Allocations from this size on look at what the machine has left, and leave this much of it.
constexpr uint64_t kCautiousFrom = 16ull << 20;
constexpr uint64_t kHostReserve = 256ull << 20;

size_t round_up(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

// Four classes to every power of two: at most a quarter is lost, usually an eighth.
size_t size_class(size_t bytes) {
  if (bytes <= kPage) return round_up(bytes, kSmallStep);
  const size_t step = std::max(kPage, std::bit_floor(bytes) / 4);
  return round_up(bytes, step);
}

}  // namespace

MemoryPool::MemoryPool(const Device& device, uint64_t limit)
    : device_(device),
      limit_(limit == 0 ? device.info().global_memory : limit),
      keep_(std::min(kKeepAtMost, limit_ / 4)) {
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

StoragePtr MemoryPool::borrow(const void* data, size_t bytes, std::shared_ptr<void> owner) {
  Block block;
  block.host = static_cast<std::byte*>(const_cast<void*>(data));
  block.capacity = bytes;
  block.owner = std::move(owner);
  cl_int status = CL_SUCCESS;
  block.memory = ClMem(cl().clCreateBuffer(
      device_.context(), CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, bytes, block.host, &status));
  check(status, "clCreateBuffer");
  {
    // Counted, so that in_use is the sum of the live buffers, but never refused: the bytes are
    // there already.
    std::lock_guard lock(mutex_);
    info_.in_use += bytes;
    info_.peak = std::max(info_.peak, info_.in_use);
  }
  return std::make_shared<Storage>(shared_from_this(), std::move(block), bytes);
}

StoragePtr MemoryPool::part(const StoragePtr& whole, size_t offset, size_t bytes) {
  Block block;  // without a capacity: it is not kept for reuse
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
  return info_;
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
  if (bytes > limit_ || info_.in_use > limit_ - bytes) {
    throw Error(Reason::out_of_memory, text("no room for ", bytes, " bytes: ", info_.in_use, " of ",
                                            limit_, " bytes are in use"));
  }
  // What is in use and what is kept share the device.
  if (info_.in_use + info_.pooled + bytes > limit_) trim_locked(limit_ - info_.in_use - bytes);
  info_.in_use += bytes;
  info_.peak = std::max(info_.peak, info_.in_use);
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
    if (capacity >= kCautiousFrom) {
      // An operating system that overcommits hands out memory it does not have and kills the VM
      // when it is touched; so ask first.
      if (available_host_memory() < capacity + kHostReserve) {
        std::lock_guard lock(mutex_);
        trim_locked(0);
      }
      const uint64_t available = available_host_memory();
      if (available < capacity + kHostReserve) {
        throw Error(Reason::out_of_memory,
                    text("no room for ", capacity, " bytes: the machine has ", available,
                         " bytes of memory left"));
      }
    }
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
      // Give back what is kept, here and now, and try once more.
      std::map<size_t, std::vector<Block>> kept;
      {
        std::lock_guard lock(mutex_);
        kept.swap(free_);
        info_.pooled = 0;
      }
      for (auto& [size, blocks] : kept) {
        for (Block& each : blocks) discard(std::move(each));
      }
      continue;
    }
    discard(std::move(block));
    check(status, "clCreateBuffer");
  }
}

void MemoryPool::recycle(Block block) noexcept {
  if (block.capacity == 0) return;
  try {
    if (block.owner == nullptr) {
      std::lock_guard lock(mutex_);
      const bool room = info_.in_use + info_.pooled + block.capacity <= limit_;
      if (!closed_ && room && block.capacity <= keep_) {
        trim_locked(keep_ - block.capacity);
        info_.pooled += block.capacity;
        block.zeroed = false;
        std::vector<Block>& kept = free_[block.capacity];
        kept.push_back(std::move(block));
        return;
      }
    }
    // Unmapping and releasing can take milliseconds, and this may be a scheduler thread.
    auto shared = std::make_shared<Block>(std::move(block));
    reaper_.post([this, shared] { discard(std::move(*shared)); });
  } catch (...) {
    // Only for want of memory for the bookkeeping; then the block goes at once.
    discard(std::move(block));
  }
}

void MemoryPool::trim_locked(uint64_t keep_bytes) {
  // Largest first: one big block makes the most room.
  while (info_.pooled > keep_bytes && !free_.empty()) {
    auto largest = std::prev(free_.end());
    if (largest->second.empty()) {
      free_.erase(largest);
      continue;
    }
    auto shared = std::make_shared<Block>(std::move(largest->second.back()));
    largest->second.pop_back();
    info_.pooled -= shared->capacity;
    reaper_.post([this, shared] { discard(std::move(*shared)); });
  }
}

void MemoryPool::discard(Block block) noexcept {
  block.memory = ClMem();
  if (block.owner == nullptr && block.host != nullptr) free_host(block.host, block.capacity);
  block.owner.reset();
}

}  // namespace dala
