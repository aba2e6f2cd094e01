// Error handling for libpng and libjpeg: both report errors by a callback that must not return, so
// the callback does a longjmp.
//
// A longjmp runs no destructors. Hence every call into these libraries happens inside `attempt`,
// whose body must not own anything: memory is allocated before, in objects that outlive the body.
#pragma once

#include <csetjmp>
#include <cstdio>

namespace dala::media {

class Jump {
 public:
  // Returns false if the library reported an error; `message` holds its text.
  template <typename Body>
  bool attempt(const Body& body) {
    if (setjmp(place_) != 0) return false;
    body();
    return true;
  }

  // Must be called from inside `attempt`.
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
