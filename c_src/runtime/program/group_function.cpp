#include "runtime/program/group_function.hpp"

#include <dlfcn.h>

#include "runtime/error.hpp"

namespace dala {

std::unique_ptr<GroupLibrary> GroupLibrary::open(const std::string& path,
                                                 const std::string& entry) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return nullptr;
  void* symbol = dlsym(handle, text("_pocl_kernel_", entry, "_workgroup").c_str());
  if (symbol == nullptr) {
    dlclose(handle);
    return nullptr;
  }
  try {
    return std::unique_ptr<GroupLibrary>(
        new GroupLibrary(handle, reinterpret_cast<GroupFunction>(symbol)));
  } catch (...) {
    dlclose(handle);
    throw;
  }
}

GroupLibrary::~GroupLibrary() { dlclose(handle_); }

std::string group_library_path(const std::string& entry, const std::array<size_t, 3>& local,
                               bool small_grid) {
  return text(entry, "/", local[0], "-", local[1], "-", local[2], "-goffs0",
              small_grid ? "-smallgrid" : "", "/", entry, ".so");
}

}  // namespace dala
