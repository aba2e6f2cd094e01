// Page-aligned host memory for devices that work on it directly, and the system's free memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dala {

struct HostMemory {
  std::byte* data = nullptr;
  bool zeroed = false;
};

// Null when memory has run out. For `allocate_pages`, `bytes` is a multiple of the page size.
HostMemory allocate_host(size_t bytes);
void free_host(std::byte* data, size_t bytes) noexcept;

// Bytes that the system can still provide without swapping or invoking the OOM killer.
uint64_t available_host_memory();

// An operating system that overcommits grants memory it does not have, and kills the VM when that
// is touched; so large allocations check first. The second form throws `out_of_memory`.
bool host_has_room(size_t bytes);
void need_host_room(size_t bytes);

}  // namespace dala
