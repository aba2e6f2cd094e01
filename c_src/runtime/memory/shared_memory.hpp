// Accounting for host memory that no buffer counts: memory of freed buffers that a binary still
// shows, host copies and pictures handed out as binaries, and the unused rest of a binary from
// which a buffer borrows a part. There is one account per process, since a binary may outlive its
// runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace dala {

uint64_t shared_bytes() noexcept;
void add_shared(size_t bytes) noexcept;
void drop_shared(size_t bytes) noexcept;

// Counts bytes as shared for its lifetime.
class SharedHold {
 public:
  SharedHold() = default;
  explicit SharedHold(size_t bytes) noexcept : bytes_(bytes) { add_shared(bytes_); }
  ~SharedHold() { drop_shared(bytes_); }
  SharedHold(SharedHold&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
  SharedHold& operator=(SharedHold&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  SharedHold(const SharedHold&) = delete;
  SharedHold& operator=(const SharedHold&) = delete;

 private:
  size_t bytes_ = 0;
};

// For callers without a memory pool, whose limit would include buffers. Throws `out_of_memory`
// above the limit; 0 means no limit.
SharedHold hold_shared(size_t bytes, uint64_t limit);

}  // namespace dala
