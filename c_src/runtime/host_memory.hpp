// Page-aligned host memory for devices that work on it directly, and how much of it there is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dala {

struct HostMemory {
  std::byte* data = nullptr;
  bool zeroed = false;
};

// Null when there is none. `bytes` is a multiple of the page size for `allocate_pages`.
HostMemory allocate_host(size_t bytes);
void free_host(std::byte* data, size_t bytes) noexcept;

// Bytes the system can still give without swapping or killing anybody.
uint64_t available_host_memory();

// An operating system that overcommits hands out memory it does not have and kills the VM when it
// is touched, so large allocations ask first. The second form throws `out_of_memory`.
bool host_has_room(size_t bytes);
void need_host_room(size_t bytes);

}  // namespace dala
