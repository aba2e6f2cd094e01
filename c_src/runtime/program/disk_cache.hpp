// A folder of files by name, shared by several VMs. A file is replaced as a whole and carries a
// checksum; a file whose checksum does not match is removed. The least recently used files are
// evicted when their total size exceeds the limit. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dala {

class DiskCache {
 public:
  // With an empty folder nothing is stored. A limit of zero means no limit.
  DiskCache(std::string folder, uint64_t limit);

  const std::string& folder() const { return folder_; }

  // The content of a file, which counts as used now.
  std::optional<std::string> read(const std::string& name);
  // False if there is no space; the next VM then has to recompute the content.
  bool write(const std::string& name, std::string_view content);
  void remove(const std::string& name);

  // Evicts the least recently used files until the rest is within the limit, and removes abandoned
  // temporary files.
  void trim();

 private:
  const std::string folder_;
  const uint64_t limit_;
  std::atomic<uint64_t> written_;  // bytes since the last scan of the folder
};

}  // namespace dala
