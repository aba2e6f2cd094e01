// A buffer: an element type and a shape on top of a Storage. Writing may put another Storage
// under it (copy on write), so only the Scheduler, under its lock, looks at the storage.
#pragma once

#include <memory>

#include "runtime/storage.hpp"
#include "runtime/tensor_type.hpp"

namespace dala {

class Buffer {
 public:
  Buffer(TensorType type, StoragePtr storage)
      : type_(std::move(type)), storage_(std::move(storage)) {}
  ~Buffer() { detach(); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  const TensorType& type() const { return type_; }

 private:
  friend class Scheduler;

  // Gives up the storage. Bytes that live on only because a binary shows them are the binary's
  // from then on, and no longer count as in use.
  void detach() {
    if (storage_ && storage_->exported()) storage_->disown();
    storage_.reset();
  }

  const TensorType type_;
  StoragePtr storage_;  // null once freed
};

using BufferPtr = std::shared_ptr<Buffer>;

}  // namespace dala
