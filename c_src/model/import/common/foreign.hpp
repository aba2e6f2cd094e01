// Files that are models, or parts of them, in formats that are not supported.
#pragma once

#include <cstddef>
#include <span>

namespace dala::model {

// Throws `unsupported`, naming the format and what to load instead, if it knows the file.
void refuse_foreign(std::span<const std::byte> file);

}  // namespace dala::model
