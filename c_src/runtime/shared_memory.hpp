// Host memory that no buffer counts: memory of freed buffers that a binary still shows, host copies
// and pictures that were handed out as binaries, and the rest of a binary of which a buffer borrows
// a part. One account for the process: a binary may outlive the runtime that it came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace dala {

uint64_t shared_bytes() noexcept;
void add_shared(size_t bytes) noexcept;
void drop_shared(size_t bytes) noexcept;

// Counts bytes as shared while it lives.
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

// For callers that have no pool of a device, which would count its buffers as well. Throws
// `out_of_memory` above the limit; a limit of 0 is none.
SharedHold hold_shared(size_t bytes, uint64_t limit);

}  // namespace dala
