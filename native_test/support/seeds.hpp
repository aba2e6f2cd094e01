// Files that tests create are seeds of the fuzzers: with DALA_FUZZ_SEEDS in the environment, each
// is saved in that folder, under its target.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>

namespace dala::test {

inline void keep_seed(const std::string& target, std::string_view bytes) {
  const char* root = std::getenv("DALA_FUZZ_SEEDS");
  if (root == nullptr) return;
  const std::filesystem::path folder = std::filesystem::path(root) / target;
  std::filesystem::create_directories(folder);
  const std::string name = std::to_string(std::hash<std::string_view>()(bytes));
  std::ofstream(folder / name, std::ios::binary) << bytes;
}

}  // namespace dala::test
