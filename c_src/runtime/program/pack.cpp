#include "runtime/program/pack.hpp"

#include <cstdint>
#include <cstring>
#include <optional>

namespace dala {
namespace {

void append_part(std::string& packed, std::string_view part) {
  const uint64_t size = part.size();
  packed.append(reinterpret_cast<const char*>(&size), sizeof(size));
  packed.append(part);
}

std::optional<std::string_view> take(std::string_view& packed) {
  uint64_t size = 0;
  if (packed.size() < sizeof(size)) return std::nullopt;
  std::memcpy(&size, packed.data(), sizeof(size));
  packed.remove_prefix(sizeof(size));
  if (packed.size() < size) return std::nullopt;
  const std::string_view part = packed.substr(0, size);
  packed.remove_prefix(size);
  return part;
}

// Whether the path stays within the folder that it is relative to.
bool is_inside(std::string_view path) {
  if (path.empty() || path.front() == '/' || path.find('\0') != std::string_view::npos)
    return false;
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    if (path.substr(0, end) == ".." || path.substr(0, end).empty()) return false;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return true;
}

}  // namespace

std::string pack(const Files& files) {
  std::string packed;
  for (const auto& [path, content] : files) {
    append_part(packed, path);
    append_part(packed, content);
  }
  return packed;
}

Files unpack(std::string_view packed) {
  Files files;
  while (!packed.empty()) {
    const std::optional<std::string_view> path = take(packed);
    if (!path || !is_inside(*path)) break;
    const std::optional<std::string_view> content = take(packed);
    if (!content) break;
    files.emplace(*path, *content);
  }
  return files;
}

}  // namespace dala
