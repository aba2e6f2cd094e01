// Bytes of a buffer made visible to the host: the storage itself, pinned against writes, where
// the device shares host memory; a host copy where it does not.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "runtime/host_memory.hpp"
#include "runtime/storage.hpp"

namespace dala {

class Readback {
 public:
  // The storage is marked as exported by the caller already.
  explicit Readback(StoragePtr storage)
      : storage_(std::move(storage)), data_(storage_->host()), bytes_(storage_->bytes()) {}
  // Host memory from `allocate_host(capacity)`.
  Readback(std::byte* data, size_t bytes, size_t capacity)
      : data_(data), bytes_(bytes), capacity_(capacity) {}
  ~Readback() {
    if (storage_) {
      storage_->drop_export();
    } else if (data_ != nullptr) {
      free_host(data_, capacity_);
    }
  }
  Readback(const Readback&) = delete;
  Readback& operator=(const Readback&) = delete;

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  bool shares_storage() const { return storage_ != nullptr; }

 private:
  StoragePtr storage_;
  std::byte* data_;
  size_t bytes_;
  size_t capacity_ = 0;
};

}  // namespace dala
