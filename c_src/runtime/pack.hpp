// Several files as one text: for each its path, and its content.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace dala {

using Files = std::map<std::string, std::string>;  // by path, relative and without ".."

std::string pack(const Files& files);

// The files of a pack up to the first one that makes no sense.
Files unpack(std::string_view packed);

}  // namespace dala
