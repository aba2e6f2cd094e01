// Replaces the library's allocation functions: the operators, and two functions of the C library.
#include "faults/alloc_faults.hpp"

#include <dlfcn.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "faults/cl_faults.hpp"

namespace dala::test {
namespace {

std::atomic<bool> g_armed{false};
std::atomic<long> g_left{0};

bool fails() {
  if (!g_armed.load(std::memory_order_relaxed) || !ClFaults::in_library()) return false;
  return g_left.fetch_sub(1) == 1;
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

void AllocFaults::arm(long nth) {
  g_left = nth;
  g_armed = true;
}

bool AllocFaults::disarm() {
  g_armed = false;
  return g_left.load() <= 0;
}

long AllocFaults::stop_counting() {
  g_armed = false;
  return kNever - g_left.load();
}

}  // namespace dala::test

#define DALA_EXPORTED __attribute__((visibility("default")))

DALA_EXPORTED void* operator new(size_t bytes) {
  void* memory = dala::test::fails() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

DALA_EXPORTED void operator delete(void* memory) noexcept { std::free(memory); }
DALA_EXPORTED void operator delete(void* memory, size_t) noexcept { std::free(memory); }

extern "C" {

DALA_EXPORTED void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  static const auto real = dala::test::next<decltype(&aligned_alloc)>("aligned_alloc");
  return dala::test::fails() ? nullptr : real(alignment, bytes);
}

DALA_EXPORTED void* mmap(void* address, size_t bytes, int protection, int flags, int fd,
                         off_t offset) noexcept {
  static const auto real = dala::test::next<decltype(&mmap)>("mmap");
  if (fd < 0 && dala::test::fails()) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return real(address, bytes, protection, flags, fd, offset);
}

}  // extern "C"
