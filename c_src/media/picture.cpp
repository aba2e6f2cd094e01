#include "media/picture.hpp"

#include <array>
#include <cstring>
#include <utility>

#include "runtime/error.hpp"
#include "runtime/host_memory.hpp"

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

Picture allocate_picture(const std::string& kind, int64_t width, int64_t height) {
  if (width < 1 || height < 1) {
    throw Error(Reason::invalid_param,
                text(kind, " is damaged: it says to be ", width, " by ", height, " pixels"));
  }
  if (width > kMaxPixels / height) {
    throw Error(Reason::unsupported, text(kind, " has ", width, " by ", height,
                                          " pixels, more than the limit of ", kMaxPixels));
  }
  const auto bytes = static_cast<size_t>(width * height) * 4;
  const size_t capacity = (bytes + 4095) / 4096 * 4096;
  const HostMemory memory = allocate_host(capacity);
  if (memory.data == nullptr) {
    throw Error(Reason::out_of_memory, text("the system has no room for ", bytes, " bytes"));
  }
  return {width, height, std::make_shared<Readback>(memory.data, bytes, capacity)};
}

Picture decode(File file) {
  if (begins_with(file, {0x89, 'P', 'N', 'G'})) return decode_png(file);
  if (begins_with(file, {0xff, 0xd8})) return turned(decode_jpeg(file), exif_orientation(file));
  if (begins_with(file, {'B', 'M'})) return decode_bmp(file);
  throw Error(Reason::unsupported,
              file.empty() ? "the file is empty" : "the file is none of PNG, JPEG and BMP");
}

// Orientations 5 to 8 swap rows and columns; of the result, the others mirror one axis or both.
Picture turned(Picture picture, int orientation) {
  if (orientation <= 1 || orientation > 8) return picture;
  const bool swapped = orientation >= 5;
  const int64_t width = swapped ? picture.height : picture.width;
  const int64_t height = swapped ? picture.width : picture.height;
  const bool mirror_x =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool mirror_y =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Picture result = allocate_picture("the picture", width, height);
  std::byte* to = result.data();
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x, to += 4) {
      // Mirrors are those of the source.
      int64_t column = swapped ? y : x;
      int64_t row = swapped ? x : y;
      if (mirror_x) column = picture.width - 1 - column;
      if (mirror_y) row = picture.height - 1 - row;
      std::memcpy(to, picture.data() + (row * picture.width + column) * 4, 4);
    }
  }
  return result;
}

}  // namespace dala::media
