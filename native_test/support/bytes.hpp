// Files that tests write are strings; code that reads them takes bytes.
#pragma once

#include <span>
#include <string>

namespace dala::test {

inline std::span<const std::byte> as_bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace dala::test
