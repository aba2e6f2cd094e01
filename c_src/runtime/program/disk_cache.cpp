#include "runtime/program/disk_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

#include "runtime/error.hpp"
#include "runtime/process/files.hpp"
#include "runtime/process/folders.hpp"

namespace dala {
namespace {

// A file starts with this magic, followed by the checksum of its name and content.
constexpr std::string_view kMagic = "dala-gpu-cache-1\n";
constexpr size_t kHeader = kMagic.size() + sizeof(uint64_t);
constexpr time_t kUnfinishedFor =
    3600;  // seconds after which a temporary file is considered abandoned

uint64_t sum_of(const std::string& name, std::string_view content) {
  return checksum(content, checksum(name));
}

bool has_end(std::string_view name, std::string_view end) {
  return name.size() > end.size() && name.substr(name.size() - end.size()) == end;
}

struct Kept {
  std::string path;
  uint64_t bytes;
  timespec used;
};

bool used_before(const Kept& left, const Kept& right) {
  return std::pair(left.used.tv_sec, left.used.tv_nsec) <
         std::pair(right.used.tv_sec, right.used.tv_nsec);
}

timespec modified(const struct stat& state) {
#if defined(__APPLE__)
  return state.st_mtimespec;
#else
  return state.st_mtim;
#endif
}

}  // namespace

DiskCache::DiskCache(std::string folder, uint64_t limit)
    : folder_(std::move(folder)), limit_(limit), written_(limit) {}

std::optional<std::string> DiskCache::read(const std::string& name) {
  if (folder_.empty()) return std::nullopt;
  const std::string path = folder_ + "/" + name;
  std::optional<std::string> file = read_file(path);
  if (!file) return std::nullopt;
  if (file->size() >= kHeader && file->compare(0, kMagic.size(), kMagic) == 0) {
    uint64_t sum = 0;
    std::memcpy(&sum, file->data() + kMagic.size(), sizeof(sum));
    if (sum == sum_of(name, std::string_view(*file).substr(kHeader))) {
      utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
      file->erase(0, kHeader);
      return file;
    }
  }
  unlink(path.c_str());
  return std::nullopt;
}

bool DiskCache::write(const std::string& name, std::string_view content) {
  // The space that builds need is reserved for them.
  if (folder_.empty() || !room_problem(folder_).empty()) return false;
  const uint64_t sum = sum_of(name, content);
  std::string file(kMagic);
  file.append(reinterpret_cast<const char*>(&sum), sizeof(sum));
  file.append(content);
  if (limit_ > 0 && file.size() > limit_) return false;
  if (!replace_file(folder_ + "/" + name, file)) return false;
  // Scanning the folder is slow, so it happens once per sixteenth of the limit.
  if (limit_ > 0 && (written_ += file.size()) >= limit_ / 16) trim();
  return true;
}

void DiskCache::remove(const std::string& name) {
  if (!folder_.empty()) unlink((folder_ + "/" + name).c_str());
}

void DiskCache::trim() {
  if (folder_.empty()) return;
  written_ = 0;
  std::vector<Kept> files;
  uint64_t total = 0;
  const time_t now = time(nullptr);
  for (const std::string& name : names_in(folder_)) {
    const bool unfinished = has_end(name, ".tmp");
    if (!unfinished && !has_end(name, ".bin") && !has_end(name, ".pack")) continue;
    const std::string path = folder_ + "/" + name;
    struct stat state {};
    if (lstat(path.c_str(), &state) != 0 || !S_ISREG(state.st_mode)) continue;
    if (unfinished) {
      if (now - state.st_mtime > kUnfinishedFor) unlink(path.c_str());
      continue;
    }
    files.push_back({path, static_cast<uint64_t>(state.st_size), modified(state)});
    total += files.back().bytes;
  }
  if (limit_ == 0 || total <= limit_) return;
  std::sort(files.begin(), files.end(), used_before);
  for (const Kept& file : files) {
    if (total <= limit_) return;
    if (unlink(file.path.c_str()) == 0) total -= file.bytes;
  }
}

}  // namespace dala
