// Files of the kernel cache: read and replaced as a whole, with checksums that detect damage.
// Failures are ordinary results: a cache that cannot be read or written only costs time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dala {

// A 64-bit checksum that differs for any two texts that differ in one aligned group of eight bytes,
// and almost always otherwise. It detects damage, not tampering.
uint64_t checksum(std::string_view bytes, uint64_t seed = 0);

std::optional<std::string> read_file(const std::string& path);

// Writes a temporary file and renames it, so that readers see the old or the new content. Only the
// owner can read the file. After a power loss it may be empty or damaged.
bool replace_file(const std::string& path, std::string_view content);

// Creates the folder and its missing parents with mode 0700; on failure `errno` is set. An existing
// folder is left unchanged.
bool make_folder(const std::string& path);

// The names in a folder, without "." and "..", unordered. Empty when it cannot be read.
std::vector<std::string> names_in(const std::string& folder);

// Removes a file, or a folder with its contents. Symbolic links are removed, not followed.
void remove_all(const std::string& path) noexcept;

// A human-readable number of bytes, such as "1.5 MiB".
std::string size_text(uint64_t bytes);

}  // namespace dala
