// A buffer: an element type and a shape on top of a Storage. A write may replace its Storage
// (copy-on-write), so only the Scheduler, under its lock, accesses the storage. A temporary buffer
// never has one: it stands for a value between the stages of a command, and each command allocates
// memory for it if it needs any.
#pragma once

#include <memory>

#include "runtime/memory/storage.hpp"
#include "runtime/memory/tensor_type.hpp"

namespace dala {

class Buffer {
 public:
  Buffer(TensorType type, StoragePtr storage)
      : type_(std::move(type)), storage_(std::move(storage)) {}
  explicit Buffer(TensorType type) : type_(std::move(type)), temporary_(true) {}
  ~Buffer() { detach(); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  const TensorType& type() const { return type_; }
  bool temporary() const { return temporary_; }

 private:
  friend class Scheduler;

  bool freed() const { return temporary_ ? freed_ : storage_ == nullptr; }

  // Gives up the storage. Bytes that only a binary keeps alive count as shared from then on.
  void detach() {
    if (storage_ && storage_->shown()) storage_->disown();
    storage_.reset();
    freed_ = true;
  }

  const TensorType type_;
  const bool temporary_ = false;
  bool freed_ = false;
  StoragePtr storage_;  // null once freed, and in temporary buffers
};

using BufferPtr = std::shared_ptr<Buffer>;

}  // namespace dala
