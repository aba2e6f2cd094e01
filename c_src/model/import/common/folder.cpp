#include "model/import/common/folder.hpp"

#include <algorithm>
#include <fstream>

#include "model/graph/problem.hpp"
#include "runtime/error.hpp"

namespace dala::model {
namespace {

// All formats use offsets of at most 32 bits; ONNX keeps larger weights in separate files.
constexpr std::streamoff kLargestFile = std::streamoff{1} << 32;

}  // namespace

std::optional<std::filesystem::path> inside_folder(const std::string& folder,
                                                   const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code failure;
  const fs::path root = fs::canonical(folder, failure);
  if (failure) {
    reject(text("the model's folder cannot be read: ", failure.message()));
  }
  // The system would cut off the name at a NUL byte.
  if (name.empty() || name.find('\0') != std::string::npos) return std::nullopt;
  const fs::path path = fs::weakly_canonical(root / fs::path(name), failure);
  const fs::path inside = path.lexically_relative(root);
  if (failure || inside.empty() || *inside.begin() == "..") return std::nullopt;
  return path;
}

std::vector<std::byte> read_model_file(const std::string& path) {
  std::error_code failure;
  std::ifstream file;
  // Opening a named pipe would block until another process writes to it.
  if (std::filesystem::is_regular_file(path, failure)) {
    file.open(path, std::ios::binary | std::ios::ate);
  }
  if (!file.is_open()) {
    throw Error(Reason::model_not_found, text(path, " is not a readable file"));
  }
  const std::streamoff size = file.tellg();
  if (size > kLargestFile) {
    reject(text(path, " has ", size, " bytes, a model file can have at most ", kLargestFile));
  }
  std::vector<std::byte> bytes(static_cast<size_t>(std::max<std::streamoff>(0, size)));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), size);
  if (!file) throw Error(Reason::model_not_found, text(path, " cannot be read"));
  return bytes;
}

}  // namespace dala::model
