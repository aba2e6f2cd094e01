// Files that a model names: those in its own folder, and no others.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace dala::model {

// Where the file is, links followed; none when that is not inside the folder. The file itself need
// not be there. Throws `invalid_model` when the folder cannot be read.
std::optional<std::filesystem::path> inside_folder(const std::string& folder,
                                                   const std::string& name);

}  // namespace dala::model
