// Memory that another process can map: anonymous files of the kernel (memfd), which have no name in
// any file system. The other process opens one as /proc/<pid>/fd/<fd> and maps it. The pages go
// when neither process maps them any more, however these end, so nothing is left behind. A segment
// is sealed against changes of its size: nothing that happens to its owner makes an access fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/memory/shared_memory.hpp"

namespace dala {

// How any process finds a byte of a segment: a descriptor of the process that has made it. The
// inode tells this file from a later one that got the same descriptor.
struct SegmentPlace {
  int64_t os_pid = 0;
  int fd = -1;
  uint64_t inode = 0;
  uint64_t offset = 0;
};

// From now on `allocate_host` makes large memory of segments, as far as the system has any.
void share_host_memory() noexcept;
bool host_memory_is_shared() noexcept;

// Null when there is none.
std::byte* allocate_segment(size_t bytes);
// False for memory that is no segment.
bool free_segment(std::byte* data) noexcept;

// Nothing if the bytes are not all in one segment, of this process or mapped by it.
std::optional<SegmentPlace> segment_at(const std::byte* data, size_t bytes);

// A copy of bytes in a segment of its own. A few segments are kept for the next copies: fresh pages
// cost more than the copy.
class SegmentCopy {
 public:
  // Throws `out_of_memory`.
  SegmentCopy(const std::byte* from, size_t bytes);
  ~SegmentCopy();
  SegmentCopy(const SegmentCopy&) = delete;
  SegmentCopy& operator=(const SegmentCopy&) = delete;

  const std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  size_t capacity_ = 0;
  SharedHold held_;
};

// Gives up the segments that are kept for copies.
void trim_segments() noexcept;

// A part of a segment of another process, to be read only.
class MappedSegment {
 public:
  // Throws `device_error` if there is no such segment, or it is smaller.
  MappedSegment(const SegmentPlace& place, size_t bytes);
  ~MappedSegment();
  MappedSegment(const MappedSegment&) = delete;
  MappedSegment& operator=(const MappedSegment&) = delete;

  const std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  void* pages_ = nullptr;
  size_t length_ = 0;
  const std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  SharedHold held_;
};

}  // namespace dala
