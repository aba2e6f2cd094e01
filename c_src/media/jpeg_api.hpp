// The table of the libjpeg-turbo functions in use, resolved at run time.
#pragma once

// jpeglib.h uses size_t and FILE without including their headers.
#include <cstddef>
#include <cstdio>
// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#if !defined(JCS_ALPHA_EXTENSIONS)
#error "the JPEG headers are not those of libjpeg-turbo: run bin/setup"
#endif

namespace dala::media {

#define DALA_JPEG_FUNCTIONS(X) \
  X(jpeg_std_error)            \
  X(jpeg_CreateDecompress)     \
  X(jpeg_mem_src)              \
  X(jpeg_read_header)          \
  X(jpeg_has_multiple_scans)   \
  X(jpeg_start_decompress)     \
  X(jpeg_read_scanlines)       \
  X(jpeg_finish_decompress)    \
  X(jpeg_destroy_decompress)   \
  X(jpeg_CreateCompress)       \
  X(jpeg_set_defaults)         \
  X(jpeg_set_colorspace)       \
  X(jpeg_set_quality)          \
  X(jpeg_simple_progression)   \
  X(jpeg_start_compress)       \
  X(jpeg_write_scanlines)      \
  X(jpeg_finish_compress)      \
  X(jpeg_destroy_compress)

struct JpegApi {
#define DALA_JPEG_MEMBER(name) decltype(&::name) name = nullptr;
  DALA_JPEG_FUNCTIONS(DALA_JPEG_MEMBER)
#undef DALA_JPEG_MEMBER
};

// Throws `unsupported` if the library is missing.
const JpegApi& jpeg();

}  // namespace dala::media
