// libpng and libjpeg, opened at run time as libOpenCL is: the NIF loads on a machine that lacks
// them, and only reading and writing such files says what is missing. The names carry the version
// of the headers we were built with, since the structs of both libraries are part of their ABI.
#pragma once

#include <span>
#include <string>

namespace dala::media {

extern const std::span<const char* const> kPngLibraries;
extern const std::span<const char* const> kJpegLibraries;

class CodecLibrary {
 public:
  // Opens the first of the names that is there. It stays open.
  explicit CodecLibrary(std::span<const char* const> names);

  template <typename Function>
  void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(symbol(name));
  }

  // Empty, or why the library or a function is not there.
  const std::string& problem() const { return problem_; }

 private:
  void* symbol(const char* name);

  void* handle_ = nullptr;
  std::string problem_;
};

}  // namespace dala::media
