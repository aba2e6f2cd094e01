#include "runtime/memory/host_memory.hpp"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <limits>

#include "runtime/error.hpp"
#include "runtime/memory/segment.hpp"

namespace dala {
namespace {

constexpr size_t kMapFrom = 256 * 1024;        // smaller blocks come from malloc
constexpr size_t kHugeFrom = 8 * 1024 * 1024;  // larger blocks use huge pages, to save page faults
constexpr size_t kAlignment = 128;             // the widest OpenCL vector
// Allocations from this size on check the system's free memory first, and leave `kHostReserve` of
// it.
constexpr uint64_t kCautiousFrom = 16ull << 20;
constexpr uint64_t kHostReserve = 256ull << 20;

// The first number on the line of `path` that starts with `key`, or on its only line.
bool read_first_number(const char* path, const char* key, uint64_t& number) {
  FILE* file = std::fopen(path, "re");
  if (file == nullptr) return false;
  char line[256];
  bool found = false;
  while (!found && std::fgets(line, sizeof(line), file) != nullptr) {
    unsigned long long value = 0;
    found = std::sscanf(line, key, &value) == 1;
    number = value;
  }
  std::fclose(file);
  return found;
}

}  // namespace

HostMemory allocate_host(size_t bytes) {
  if (bytes < kMapFrom) {
    return {static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes)), false};
  }
  // Fresh pages of a segment are zeros as well.
  void* pages = host_memory_is_shared() ? allocate_segment(bytes) : nullptr;
  if (pages == nullptr) {
    pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return {};
  }
#if defined(MADV_HUGEPAGE)
  if (bytes >= kHugeFrom) madvise(pages, bytes, MADV_HUGEPAGE);
#endif
  return {static_cast<std::byte*>(pages), true};
}

void free_host(std::byte* data, size_t bytes) noexcept {
  if (bytes < kMapFrom) {
    std::free(data);
  } else if (!host_memory_is_shared() || !free_segment(data)) {
    munmap(data, bytes);
  }
}

uint64_t available_host_memory() {
  uint64_t available = std::numeric_limits<uint64_t>::max();
  uint64_t kibibytes = 0;
  if (read_first_number("/proc/meminfo", "MemAvailable: %llu", kibibytes))
    available = kibibytes * 1024;

  // In a container the cgroup's limit applies, not the machine's memory.
  uint64_t limit = 0;
  uint64_t used = 0;
  if (read_first_number("/sys/fs/cgroup/memory.max", "%llu", limit) &&
      read_first_number("/sys/fs/cgroup/memory.current", "%llu", used)) {
    const uint64_t left = limit > used ? limit - used : 0;
    if (left < available) available = left;
  }
  return available;
}

bool host_has_room(size_t bytes) {
  return bytes < kCautiousFrom || available_host_memory() >= bytes + kHostReserve;
}

void need_host_room(size_t bytes) {
  if (host_has_room(bytes)) return;
  throw Error(Reason::out_of_memory, text("no room for ", bytes, " bytes: the machine has ",
                                          available_host_memory(), " bytes of memory left"));
}

}  // namespace dala
