#include "media/codec_library.hpp"

#include <dlfcn.h>

// jpeglib.h uses size_t and FILE without including their headers.
#include <cstddef>
#include <cstdio>
// clang-format off
#include <jpeglib.h>
#include <png.h>
// clang-format on

#include "runtime/error.hpp"

namespace dala::media {
namespace {

#define DALA_QUOTE_(number) #number
#define DALA_QUOTE(number) DALA_QUOTE_(number)

#if defined(__APPLE__)
constexpr const char* kPng[] = {"libpng16.16.dylib", "/opt/homebrew/lib/libpng16.16.dylib",
                                "/usr/local/lib/libpng16.16.dylib"};
constexpr const char* kWebp[] = {"libwebp.7.dylib", "/opt/homebrew/lib/libwebp.7.dylib",
                                 "/usr/local/lib/libwebp.7.dylib"};
#if JPEG_LIB_VERSION >= 80
constexpr const char* kJpeg[] = {"libjpeg.8.dylib", "/opt/homebrew/lib/libjpeg.8.dylib",
                                 "/opt/homebrew/opt/jpeg-turbo/lib/libjpeg.8.dylib",
                                 "/usr/local/opt/jpeg-turbo/lib/libjpeg.8.dylib"};
#else
constexpr const char* kJpeg[] = {"libjpeg.62.dylib"};
#endif
#else
constexpr const char* kPng[] = {
    "libpng" DALA_QUOTE(PNG_LIBPNG_VER_DLLNUM) ".so." DALA_QUOTE(PNG_LIBPNG_VER_SONUM)};
// Version 7 changed structs of the advanced API alone.
constexpr const char* kWebp[] = {"libwebp.so.7", "libwebp.so.6"};
#if JPEG_LIB_VERSION >= 80
constexpr const char* kJpeg[] = {"libjpeg.so.8"};
#elif JPEG_LIB_VERSION >= 70
constexpr const char* kJpeg[] = {"libjpeg.so.7"};
#else
constexpr const char* kJpeg[] = {"libjpeg.so.62"};
#endif
#endif

}  // namespace

const std::span<const char* const> kPngLibraries{kPng};
const std::span<const char* const> kJpegLibraries{kJpeg};
const std::span<const char* const> kWebpLibraries{kWebp};

CodecLibrary::CodecLibrary(std::span<const char* const> names) {
  for (const char* name : names) {
    handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      problem_.clear();
      return;
    }
    if (problem_.empty()) problem_ = dlerror();
  }
}

void* CodecLibrary::symbol(const char* name) {
  if (handle_ == nullptr) return nullptr;
  void* found = dlsym(handle_, name);
  if (found == nullptr) {
    problem_ = text("the symbol ", name, " is missing");
    handle_ = nullptr;
  }
  return found;
}

}  // namespace dala::media
