// Files of the kernel cache: read whole, replaced whole, with checksums that find damage. Failures
// are ordinary results here: a cache that cannot be read or written costs time and nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dala {

// 64 bits that differ for any two texts that differ in one aligned group of eight bytes, and almost
// always otherwise. It tells damage from content, not friend from foe.
uint64_t checksum(std::string_view bytes, uint64_t seed = 0);

std::optional<std::string> read_file(const std::string& path);

// Writes beside the place and renames, so that a reader sees the old content or the new. The file
// can be read by its owner only. After a power loss it may be empty or damaged.
bool replace_file(const std::string& path, std::string_view content);

// Creates the folder and those above it that are missing, for their owner only; `errno` tells why
// it could not. An existing folder is left as it is.
bool make_folder(const std::string& path);

// The names in a folder, but for "." and "..", in no order. Empty when it cannot be read.
std::vector<std::string> names_in(const std::string& folder);

// Removes a file, or a folder with all that is in it; links are removed, not followed.
void remove_all(const std::string& path) noexcept;

// A number of bytes for people, such as "1.5 MiB".
std::string size_text(uint64_t bytes);

}  // namespace dala
