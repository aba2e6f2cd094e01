// Errors of libpng and libjpeg: they report by a function that must not return, so it jumps.
//
// A jump runs no destructors. Hence all work on these libraries happens inside `attempt`, whose
// body may own nothing: memory is taken before, in objects that outlive it.
#pragma once

#include <csetjmp>
#include <cstdio>

namespace dala::media {

class Jump {
 public:
  // False when the library gave up; `message` says why.
  template <typename Body>
  bool attempt(const Body& body) {
    if (setjmp(place_) != 0) return false;
    body();
    return true;
  }

  // Only from inside `attempt`.
  [[noreturn]] void give_up(const char* message) {
    std::snprintf(message_, sizeof(message_), "%s", message);
    std::longjmp(place_, 1);
  }

  const char* message() const { return message_; }

 private:
  std::jmp_buf place_{};
  char message_[256] = "";
};

}  // namespace dala::media
