// A queue whose links are in its items, so that it never allocates. It does not own the items, and
// an item is in one queue of a kind at a time.
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

  // All items; this one is empty from then on.
  Chain take() noexcept { return std::exchange(*this, Chain()); }

  // Keeps the order of the others.
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
