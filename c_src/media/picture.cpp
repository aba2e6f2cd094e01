#include "media/picture.hpp"

#include <array>
#include <cstring>
#include <utility>

#include "runtime/error.hpp"
#include "runtime/memory/host_memory.hpp"

namespace dala::media {
namespace {

bool begins_with(File file, std::initializer_list<unsigned> bytes) {
  if (file.size() < bytes.size()) return false;
  size_t at = 0;
  for (unsigned byte : bytes) {
    if (std::to_integer<unsigned>(file[at++]) != byte) return false;
  }
  return true;
}

}  // namespace

void check_size(const std::string& kind, int64_t width, int64_t height, const Limits& limits) {
  if (width < 1 || height < 1) {
    throw Error(Reason::invalid_param,
                text(kind, " is damaged: its header declares ", width, " by ", height, " pixels"));
  }
  if (width > limits.max_pixels / height) {
    throw Error(Reason::unsupported, text(kind, " has ", width, " by ", height,
                                          " pixels, more than the limit of ", limits.max_pixels));
  }
}

Picture allocate_picture(int64_t width, int64_t height, const Limits& limits) {
  const auto bytes = static_cast<size_t>(width * height) * 4;
  return {width, height, Readback::on_host(bytes, limits.hold(bytes))};
}

Picture decode(File file, const Limits& limits) {
  if (begins_with(file, {0x89, 'P', 'N', 'G'})) return decode_png(file, limits);
  if (begins_with(file, {0xff, 0xd8})) return decode_jpeg(file, limits);
  if (begins_with(file, {'B', 'M'})) return decode_bmp(file, limits);
  if (begins_with(file, {'G', 'I', 'F', '8'})) return decode_gif(file, limits);
  if (is_webp(file)) return decode_webp(file, limits);
  throw Error(Reason::unsupported, file.empty()
                                       ? "the file is empty"
                                       : "the file is not a PNG, JPEG, WebP, GIF or BMP file");
}

// Orientations 5 to 8 swap rows and columns. The mirror flags refer to the source.
Turn::Turn(int64_t width, int64_t height, int orientation)
    : columns_(width),
      rows_(height),
      swapped_(orientation >= 5 && orientation <= 8),
      mirror_x_(orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8),
      mirror_y_(orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7) {}

void Turn::place(const std::byte* row, int64_t y, std::byte* result) const {
  const int64_t line = mirror_y_ ? rows_ - 1 - y : y;
  const int64_t across = swapped_ ? width() : 1;  // from one column of the source to the next
  const int64_t first = swapped_ ? line : line * width();
  const int64_t step = mirror_x_ ? -across : across;
  if (!swapped_ && !mirror_x_) {
    std::memcpy(result + first * 4, row, static_cast<size_t>(columns_) * 4);
    return;
  }
  int64_t at = first + (mirror_x_ ? (columns_ - 1) * across : 0);
  for (int64_t x = 0; x < columns_; ++x, at += step) {
    std::memcpy(result + at * 4, row + x * 4, 4);
  }
}

}  // namespace dala::media
