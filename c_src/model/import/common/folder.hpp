// Access to model files. A model may only refer to files inside its own folder.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dala::model {

// The path of file `name` with symbolic links resolved, or nullopt if it is outside of the folder.
// The file need not exist. Throws `invalid_model` if the folder cannot be read.
std::optional<std::filesystem::path> inside_folder(const std::string& folder,
                                                   const std::string& name);

// Reads a model file. Throws `model_not_found` unless it is a readable regular file, and
// `invalid_model` if it is too large.
std::vector<std::byte> read_model_file(const std::string& path);

}  // namespace dala::model
