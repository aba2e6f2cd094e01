#include "runtime/process/files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "runtime/error.hpp"

namespace dala {
namespace {

constexpr uint64_t kFirst = 0x9e3779b97f4a7c15u;
constexpr uint64_t kSecond = 0xd6e8feb86659fd93u;

// A bijection in each argument, so that a change of one word always changes the result.
uint64_t mixed(uint64_t state, uint64_t word) {
  return std::rotl((state ^ word) * kFirst, 31) * kSecond;
}

uint64_t word_at(const char* bytes, size_t count = 8) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, count);
  return word;
}

bool write_whole(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = write(fd, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    content.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

// At most `size` bytes, since the file may be truncated meanwhile.
std::optional<std::string> read_whole(int fd, size_t size) {
  std::string content(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t count = read(fd, content.data() + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  content.resize(done);
  return content;
}

}  // namespace

uint64_t checksum(std::string_view bytes, uint64_t seed) {
  // Four independent lanes hide the latency of the multiplication.
  uint64_t lanes[4] = {seed, seed + 1, seed + 2, seed + 3};
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 32; left -= 32, at += 32) {
    for (int i = 0; i < 4; ++i) lanes[i] = mixed(lanes[i], word_at(at + 8 * i));
  }
  uint64_t sum = mixed(seed, bytes.size());
  for (uint64_t lane : lanes) sum = mixed(sum, lane);
  for (; left >= 8; left -= 8, at += 8) sum = mixed(sum, word_at(at));
  if (left > 0) sum = mixed(sum, word_at(at, left));
  return mixed(sum ^ (sum >> 32), left);
}

std::optional<std::string> read_file(const std::string& path) {
  // Without O_NONBLOCK, opening a FIFO would block.
  const int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::optional<std::string> content;
  struct stat state {};
  if (fstat(fd, &state) == 0 && S_ISREG(state.st_mode)) {
    content = read_whole(fd, static_cast<size_t>(state.st_size));
  }
  close(fd);
  return content;
}

bool replace_file(const std::string& path, std::string_view content) {
  std::string unfinished = path + ".XXXXXX.tmp";
  const int fd = mkostemps(unfinished.data(), 4, O_CLOEXEC);
  if (fd < 0) return false;
  bool good = write_whole(fd, content);
  good = close(fd) == 0 && good;
  good = good && rename(unfinished.c_str(), path.c_str()) == 0;
  if (!good) unlink(unfinished.c_str());
  return good;
}

bool make_folder(const std::string& path) {
  struct stat state {};
  if (path.empty()) return false;
  if (stat(path.c_str(), &state) == 0) {
    if (S_ISDIR(state.st_mode)) return true;
    errno = ENOTDIR;
    return false;
  }
  const size_t slash = path.find_last_of('/');
  if (slash != std::string::npos && slash > 0 && !make_folder(path.substr(0, slash))) return false;
  return mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
}

std::vector<std::string> names_in(const std::string& folder) {
  // std::filesystem terminates the process when it runs out of memory for an entry.
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
  if (open == nullptr) return names;
  while (const dirent* entry = readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

void remove_all(const std::string& path) noexcept {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

std::string size_text(uint64_t bytes) {
  if (bytes < 1024) return text(bytes, " B");
  const char* units[] = {"KiB", "MiB", "GiB", "TiB"};
  double size = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; size >= 1024 && unit < 3; ++unit) size /= 1024;
  char written[32];
  std::snprintf(written, sizeof(written), "%.1f %s", size, units[unit]);
  return written;
}

}  // namespace dala
