#include "runtime/memory/readback.hpp"

#include "runtime/error.hpp"

namespace dala {

std::shared_ptr<Readback> Readback::on_host(size_t bytes, SharedHold held) {
  const size_t capacity = (bytes + 4095) / 4096 * 4096;
  need_host_room(capacity);
  auto readback = std::make_shared<Readback>();
  readback->data_ = allocate_host(capacity).data;
  if (readback->data_ == nullptr) {
    throw Error(Reason::out_of_memory, text("the system has no room for ", bytes, " bytes"));
  }
  readback->bytes_ = bytes;
  readback->capacity_ = capacity;
  readback->held_ = std::move(held);
  return readback;
}

}  // namespace dala
