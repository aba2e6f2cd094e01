// Checks of folders: for the files of the cache, and for the libraries that a driver writes and
// loads.
#pragma once

#include <cstdint>
#include <string>

namespace dala {

// The disk space that a build may need, including the driver's intermediate files.
constexpr uint64_t kBuildRoom = uint64_t{64} << 20;

// Each check describes a problem in a few words, such as "is mounted noexec", or returns the empty
// string.

// Whether only this user can change the contents. Code is loaded from such a folder, so this user
// must own it, no other user may write to it, and no parent may let others replace it. A `shared`
// folder, such as /tmp, only has to protect what is created in it.
enum class FolderUse { own, shared };
std::string trust_problem(const std::string& folder, FolderUse use);

// Whether files can be created, and whether there is space for a build.
std::string write_problem(const std::string& folder);
std::string room_problem(const std::string& folder);

// Also finds quotas, which the file system's numbers do not show, by allocating the space for a
// moment. Takes up to a few milliseconds.
std::string real_room_problem(const std::string& folder);

// Whether libraries can be loaded from the folder, tried by mapping a file as code.
std::string load_problem(const std::string& folder);

// Whether the folder is on a network file system, where losing the connection raises SIGBUS in a
// process that has mapped a library.
bool on_network(const std::string& folder);

}  // namespace dala
