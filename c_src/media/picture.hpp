// Decoding and encoding of picture files. Decoding always returns RGBA with 8 bits per channel,
// row-major from the top left, not premultiplied. Nothing here needs a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/memory/readback.hpp"

namespace dala::media {

// The upper bound of the pixels of a picture: 512 MiB as RGBA.
constexpr int64_t kMaxPixels = int64_t{1} << 27;
// The default limit when a file is decoded; a caller can raise it. 256 MiB as RGBA.
constexpr int64_t kDefaultMaxPixels = int64_t{1} << 26;

// Limits on decoding a file. Both are checked before any memory is allocated.
struct Limits {
  int64_t max_pixels = kDefaultMaxPixels;
  // Accounts for memory, or throws `out_of_memory`.
  std::function<SharedHold(size_t)> hold = [](size_t bytes) { return SharedHold(bytes); };
};

using File = std::span<const std::byte>;

struct Picture {
  int64_t width = 0;
  int64_t height = 0;
  std::shared_ptr<Readback> pixels;  // host memory that Erlang binaries can refer to

  std::byte* data() const { return pixels->data(); }
  size_t bytes() const { return pixels->bytes(); }
};

// RGBA pixels owned by the caller.
struct View {
  int64_t width = 0;
  int64_t height = 0;
  const std::byte* data = nullptr;
};

// Throws `invalid_param` for a size of 0, `unsupported` above the limit. `kind` names the file for
// errors: "the PNG file".
void check_size(const std::string& kind, int64_t width, int64_t height, const Limits& limits);
// Allocates a picture of a checked size, uninitialised. Throws `out_of_memory`.
Picture allocate_picture(int64_t width, int64_t height, const Limits& limits);

// Decodes a PNG, JPEG, WebP, GIF or BMP file, recognised by its magic number. Throws
// `invalid_param` for a damaged file and `unsupported` for any other format. Besides the picture it
// needs memory for a few rows; a progressive JPEG also needs its coefficients, at most 6 bytes per
// pixel, and a WebP 4 bytes per pixel.
Picture decode(File file, const Limits& limits = {});

Picture decode_png(File file, const Limits& limits);
Picture decode_jpeg(File file, const Limits& limits);
Picture decode_bmp(File file, const Limits& limits);
Picture decode_gif(File file, const Limits& limits);
bool is_webp(File file);
Picture decode_webp(File file, const Limits& limits);

std::vector<std::byte> encode_png(const View& view);
// JPEG has no alpha channel, so alpha is dropped. `quality` is 1 to 100.
std::vector<std::byte> encode_jpeg(const View& view, int quality);
// `quality` is 1 to 100, or kLossless, which keeps all but the colours of transparent pixels.
constexpr int kLossless = 0;
std::vector<std::byte> encode_webp(const View& view, int quality);

// The Exif orientation of a JPEG file, 1 to 8; 1 (upright) if the entry is missing or invalid.
int exif_orientation(File jpeg);

// Applies an Exif orientation while rows are written to the result.
class Turn {
 public:
  Turn(int64_t width, int64_t height, int orientation);

  // The size of the result.
  int64_t width() const { return swapped_ ? rows_ : columns_; }
  int64_t height() const { return swapped_ ? columns_ : rows_; }

  // Writes row `y` of the source, RGBA pixels, to its position in the result.
  void place(const std::byte* row, int64_t y, std::byte* result) const;

 private:
  int64_t columns_;
  int64_t rows_;
  bool swapped_;
  bool mirror_x_;
  bool mirror_y_;
};

}  // namespace dala::media
