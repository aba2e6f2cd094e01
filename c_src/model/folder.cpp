#include "model/folder.hpp"

#include "runtime/error.hpp"

namespace dala::model {

std::optional<std::filesystem::path> inside_folder(const std::string& folder,
                                                   const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code failure;
  const fs::path root = fs::canonical(folder, failure);
  if (failure) {
    throw Error(Reason::invalid_model,
                text("the model's folder cannot be read: ", failure.message()));
  }
  // A name with a zero byte is another one to the system.
  if (name.empty() || name.find('\0') != std::string::npos) return std::nullopt;
  const fs::path path = fs::weakly_canonical(root / fs::path(name), failure);
  const fs::path inside = path.lexically_relative(root);
  if (failure || inside.empty() || *inside.begin() == "..") return std::nullopt;
  return path;
}

}  // namespace dala::model
