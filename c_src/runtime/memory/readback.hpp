// Bytes of a buffer made visible to the host: the storage itself, pinned against writes, where
// the device shares host memory; a host copy where it does not.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "runtime/memory/host_memory.hpp"
#include "runtime/memory/storage.hpp"

namespace dala {

class Readback {
 public:
  Readback() = default;  // of no bytes
  ~Readback() {
    if (storage_) {
      storage_->drop_export();
    } else if (data_ != nullptr) {
      free_host(data_, capacity_);
    }
  }
  Readback(const Readback&) = delete;
  Readback& operator=(const Readback&) = delete;

  // Host memory accounted for by `held`. Throws `out_of_memory`.
  static std::shared_ptr<Readback> on_host(size_t bytes, SharedHold held);
  // Exposes the bytes of the storage, which the caller has marked as exported.
  void show(StoragePtr storage) noexcept {
    storage_ = std::move(storage);
    data_ = storage_->host();
    bytes_ = storage_->bytes();
  }

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  bool shares_storage() const { return storage_ != nullptr; }

 private:
  StoragePtr storage_;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  size_t capacity_ = 0;
  SharedHold held_;
};

}  // namespace dala
