// Pictures in memory and as files. Whatever a file holds, decoding gives RGBA with 8 bits per
// channel, row by row from the top left, not premultiplied. Nothing here needs a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/readback.hpp"

namespace dala::media {

// More pixels than this are refused before any memory is taken for them: 512 MiB as RGBA.
constexpr int64_t kMaxPixels = int64_t{1} << 27;

using File = std::span<const std::byte>;

struct Picture {
  int64_t width = 0;
  int64_t height = 0;
  std::shared_ptr<Readback> pixels;  // a host copy: Erlang binaries are made of these

  std::byte* data() const { return pixels->data(); }
  size_t bytes() const { return pixels->bytes(); }
};

// RGBA pixels that somebody else owns.
struct View {
  int64_t width = 0;
  int64_t height = 0;
  const std::byte* data = nullptr;
};

// Memory for a picture, not cleared. `kind` names the file for errors: "the PNG file". Throws
// `invalid_param` for a size of 0, `unsupported` above kMaxPixels.
Picture allocate_picture(const std::string& kind, int64_t width, int64_t height);

// A PNG, JPEG or BMP file, told apart by how it begins. Throws `invalid_param` for a file that is
// damaged, `unsupported` for one of another kind.
Picture decode(File file);

Picture decode_png(File file);
Picture decode_jpeg(File file);
Picture decode_bmp(File file);

std::vector<std::byte> encode_png(const View& view);
// Alpha is dropped, which JPEG does not have. `quality` is 1 to 100.
std::vector<std::byte> encode_jpeg(const View& view, int quality);

// How the picture in a JPEG file has to be turned, by the file's Exif entry: 1 to 8, where 1, also
// for no entry or one that makes no sense, is not at all.
int exif_orientation(File jpeg);
// The picture turned like that.
Picture turned(Picture picture, int orientation);

}  // namespace dala::media
