// Loads libpng, libjpeg and libwebp at run time, as libOpenCL is loaded: the NIF library loads on a
// machine that lacks them, and only reading or writing such a file reports the missing library. The
// names of libpng and libjpeg include the version of the headers of this build, since the structs
// of both are part of their ABI.
#pragma once

#include <span>
#include <string>

namespace dala::media {

extern const std::span<const char* const> kPngLibraries;
extern const std::span<const char* const> kJpegLibraries;
extern const std::span<const char* const> kWebpLibraries;

class CodecLibrary {
 public:
  // Opens the first library in `names` that loads. It is never closed.
  explicit CodecLibrary(std::span<const char* const> names);

  template <typename Function>
  void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(symbol(name));
  }

  // Why the library or a symbol could not be loaded; empty on success.
  const std::string& problem() const { return problem_; }

 private:
  void* symbol(const char* name);

  void* handle_ = nullptr;
  std::string problem_;
};

}  // namespace dala::media
