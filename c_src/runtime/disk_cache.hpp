// A folder of files by name, which several VMs share. A file is replaced as a whole, carries a
// checksum, and is removed when that does not fit its content. Files that were not used for longest
// go when all of them together pass the limit. Safe from several threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dala {

class DiskCache {
 public:
  // With an empty folder nothing is kept. A limit of zero is none.
  DiskCache(std::string folder, uint64_t limit);

  const std::string& folder() const { return folder_; }

  // What was written under that name, and counts as used now.
  std::optional<std::string> read(const std::string& name);
  // False when there is no room; then the next VM has to make it again.
  bool write(const std::string& name, std::string_view content);
  void remove(const std::string& name);

  // Removes the oldest files until the rest is within the limit, and what was left unfinished.
  void trim();

 private:
  const std::string folder_;
  const uint64_t limit_;
  std::atomic<uint64_t> written_;  // bytes since the last look at the whole folder
};

}  // namespace dala
