// An intrusive FIFO queue, which never allocates. It does not own its items, and an item is in at
// most one queue per link.
#pragma once

#include <utility>

namespace dala {

template <typename T, T* T::*kNext>
class Chain {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  T* front() const noexcept { return first_; }

  void push(T& item) noexcept {
    item.*kNext = nullptr;
    (last_ == nullptr ? first_ : last_->*kNext) = &item;
    last_ = &item;
  }

  // Null when it is empty.
  T* pop() noexcept {
    T* item = first_;
    if (item == nullptr) return nullptr;
    first_ = item->*kNext;
    if (first_ == nullptr) last_ = nullptr;
    return item;
  }

  // Moves all items to the result.
  Chain take() noexcept { return std::exchange(*this, Chain()); }

  void remove(const T& item) noexcept {
    Chain all = take();
    while (T* each = all.pop()) {
      if (each != &item) push(*each);
    }
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
};

}  // namespace dala
