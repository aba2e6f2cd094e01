// Several files serialised as one string: the path and content of each.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace dala {

using Files = std::map<std::string, std::string>;  // by relative path, without ".."

std::string pack(const Files& files);

// The files of a pack, up to the first malformed one.
Files unpack(std::string_view packed);

}  // namespace dala
