#include "runtime/memory/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/error.hpp"
#include "runtime/memory/host_memory.hpp"

namespace dala {
namespace {

constexpr size_t kSegmentPage = 4096;
constexpr size_t kKeptBytes = 64ull << 20;
constexpr size_t kKeptSegments = 4;

struct Segment {
  SegmentPlace place;  // of its first byte
  size_t bytes = 0;
};

// The segments of this process, and those that it has mapped, by address. Memory may be freed after
// statics have been destroyed, so the table never is.
struct Table {
  std::mutex mutex;
  std::map<const std::byte*, Segment> segments;
  std::vector<std::pair<std::byte*, size_t>> kept;  // for copies, with their sizes
};

Table& table() {
  static auto* table = new Table;
  return *table;
}

std::atomic<bool> sharing{false};

// A descriptor, or -1.
int create_file(size_t bytes) {
#if defined(MFD_CLOEXEC) && defined(F_SEAL_SHRINK)
  const int fd = memfd_create("dala_gpu", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  if (ftruncate(fd, static_cast<off_t>(bytes)) == 0 &&
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
    return fd;
  }
  close(fd);
#else
  static_cast<void>(bytes);
#endif
  return -1;
}

// Whether the file cannot shrink, which would make accesses to a mapping fail.
bool sealed(int fd) {
#if defined(F_GET_SEALS)
  const int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
#else
  static_cast<void>(fd);
  return false;
#endif
}

}  // namespace

void share_host_memory() noexcept { sharing = true; }

bool host_memory_is_shared() noexcept { return sharing; }

std::byte* allocate_segment(size_t bytes) {
  const int fd = create_file(bytes);
  if (fd < 0) return nullptr;
  struct stat status {};
  void* pages = MAP_FAILED;
  if (fstat(fd, &status) == 0) {
    pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  if (pages == MAP_FAILED) {
    close(fd);
    return nullptr;
  }
  auto* data = static_cast<std::byte*>(pages);
  try {
    const std::lock_guard lock(table().mutex);
    table().segments[data] = {{getpid(), fd, static_cast<uint64_t>(status.st_ino), 0}, bytes};
  } catch (const std::bad_alloc&) {
    munmap(pages, bytes);
    close(fd);
    return nullptr;
  }
  return data;
}

bool free_segment(std::byte* data) noexcept {
  Segment segment;
  {
    const std::lock_guard lock(table().mutex);
    const auto found = table().segments.find(data);
    if (found == table().segments.end()) return false;
    segment = found->second;
    table().segments.erase(found);
  }
  munmap(data, segment.bytes);
  close(segment.place.fd);
  return true;
}

std::optional<SegmentPlace> segment_at(const std::byte* data, size_t bytes) {
  const std::lock_guard lock(table().mutex);
  const auto after = table().segments.upper_bound(data);
  if (after == table().segments.begin()) return std::nullopt;
  const auto& [first, segment] = *std::prev(after);
  const auto offset = static_cast<size_t>(data - first);
  if (offset >= segment.bytes || bytes > segment.bytes - offset) return std::nullopt;
  SegmentPlace place = segment.place;
  place.offset += offset;
  return place;
}

SegmentCopy::SegmentCopy(const std::byte* from, size_t bytes)
    : bytes_(bytes),
      capacity_((std::max<size_t>(bytes, 1) + kSegmentPage - 1) / kSegmentPage * kSegmentPage) {
  {
    const std::lock_guard lock(table().mutex);
    auto& kept = table().kept;
    const auto found = std::find_if(kept.begin(), kept.end(), [&](const auto& each) {
      return each.second >= capacity_ && each.second / 2 <= capacity_;
    });
    if (found != kept.end()) {
      std::tie(data_, capacity_) = *found;
      kept.erase(found);
    }
  }
  if (data_ == nullptr) {
    need_host_room(capacity_);
    data_ = allocate_segment(capacity_);
  }
  if (data_ == nullptr) {
    throw Error(Reason::out_of_memory, text("the system has no shared memory of ", bytes,
                                            " bytes: ", std::strerror(errno)));
  }
  held_ = SharedHold(capacity_);
  std::memcpy(data_, from, bytes);
}

SegmentCopy::~SegmentCopy() {
  {
    const std::lock_guard lock(table().mutex);
    auto& kept = table().kept;
    size_t total = capacity_;
    for (const auto& each : kept) total += each.second;
    if (total <= kKeptBytes && kept.size() < kKeptSegments) {
      try {
        kept.reserve(kKeptSegments);
        kept.emplace_back(data_, capacity_);
        return;
      } catch (const std::bad_alloc&) {
        // It is freed below.
      }
    }
  }
  free_segment(data_);
}

void trim_segments() noexcept {
  std::vector<std::pair<std::byte*, size_t>> kept;
  {
    const std::lock_guard lock(table().mutex);
    kept.swap(table().kept);
  }
  for (const auto& each : kept) free_segment(each.first);
}

MappedSegment::MappedSegment(const SegmentPlace& place, size_t bytes) : bytes_(bytes) {
  const std::string path = text("/proc/", place.os_pid, "/fd/", place.fd);
  const auto fail = [&](const std::string& why) -> Error {
    return {Reason::device_error,
            text("cannot map shared memory of process ", place.os_pid, ": ", why)};
  };
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) throw fail(std::strerror(errno));
  if (!sealed(fd)) {
    close(fd);
    throw fail("the descriptor is not that of a segment");
  }
  struct stat status {};
  const bool known = fstat(fd, &status) == 0 && static_cast<uint64_t>(status.st_ino) == place.inode;
  const auto size = known ? static_cast<uint64_t>(status.st_size) : 0;
  if (!known || place.offset > size || bytes > size - place.offset || bytes == 0) {
    close(fd);
    throw fail(text("expected ", bytes, " bytes from ", place.offset, " on, it has ", size));
  }
  const uint64_t first = place.offset / kSegmentPage * kSegmentPage;
  length_ = static_cast<size_t>(place.offset - first) + bytes;
  pages_ = mmap(nullptr, length_, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(first));
  const int problem = errno;
  close(fd);
  if (pages_ == MAP_FAILED) throw fail(std::strerror(problem));
  data_ = static_cast<const std::byte*>(pages_) + (place.offset - first);
  try {
    const std::lock_guard lock(table().mutex);
    table().segments[data_] = {place, bytes};
  } catch (...) {
    munmap(pages_, length_);
    throw;
  }
  held_ = SharedHold(bytes);
}

MappedSegment::~MappedSegment() {
  {
    const std::lock_guard lock(table().mutex);
    table().segments.erase(data_);
  }
  munmap(pages_, length_);
}

}  // namespace dala
