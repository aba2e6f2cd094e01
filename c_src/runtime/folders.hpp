// Which folders can be trusted and used: for files that are kept, and for libraries that a driver
// writes and loads.
#pragma once

#include <cstdint>
#include <string>

namespace dala {

// The room that a build may take, with all that a driver writes on the way.
constexpr uint64_t kBuildRoom = uint64_t{64} << 20;

// Each says in a few words what is wrong with the folder, such as "is mounted noexec", or gives the
// empty string.

// Whether the content is ours alone to change. Code is loaded from such a folder, so it belongs to
// this user, nobody else may write to it, and no folder above it lets others replace it. A folder
// that is `shared`, such as /tmp, only has to protect what is created in it.
enum class FolderUse { own, shared };
std::string trust_problem(const std::string& folder, FolderUse use);

// Whether files can be created, and whether there is room for a build.
std::string write_problem(const std::string& folder);
std::string room_problem(const std::string& folder);

// The same, and in addition for the limits of users that the numbers of a file system do not show:
// the room is really taken, for a moment. Takes up to some milliseconds.
std::string real_room_problem(const std::string& folder);

// Whether libraries can be loaded from there: a file of ours is mapped as code.
std::string load_problem(const std::string& folder);

// The file system is on another machine: a mapped library would end the process when the
// connection is lost.
bool on_network(const std::string& folder);

}  // namespace dala
