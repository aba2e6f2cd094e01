// The BMP decoder. Supported are palettes of 1, 4 and 8 bits per pixel, 24 bits, and 16 and 32 bits
// with or without colour masks, with rows stored bottom-up or top-down. Run-length encoded files
// are not supported.
#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "media/picture.hpp"
#include "runtime/error.hpp"

namespace dala::media {
namespace {

constexpr size_t kFileHeader = 14;

[[noreturn]] void damaged(const std::string& how) {
  throw Error(Reason::invalid_param, text("the BMP file is damaged: ", how));
}

[[noreturn]] void unsupported(const std::string& what) {
  throw Error(Reason::unsupported, text("the BMP file has ", what, ", which cannot be read"));
}

uint32_t little_endian(const std::byte* from, size_t size) {
  uint32_t result = 0;
  for (size_t i = size; i-- > 0;) result = result << 8 | std::to_integer<uint32_t>(from[i]);
  return result;
}

class Reader {
 public:
  explicit Reader(File bytes) : bytes_(bytes) {}

  uint32_t number(size_t at, size_t size) const { return little_endian(part(at, size), size); }

  const std::byte* part(size_t at, size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) damaged("it ends too early");
    return bytes_.data() + at;
  }

 private:
  File bytes_;
};

struct Header {
  size_t bytes = 0;  // of the header itself
  int64_t width = 0;
  int64_t height = 0;
  bool top_down = false;
  uint32_t bits = 0;
  uint32_t compression = 0;
  uint32_t colors = 0;
  std::array<uint32_t, 4> masks{};  // red, green, blue, alpha

  size_t row_bytes() const { return (static_cast<size_t>(width) * bits + 31) / 32 * 4; }
};

void read_masks(Header& header, const Reader& file) {
  constexpr uint32_t kMasks = 3;
  constexpr uint32_t kMasksWithAlpha = 6;
  if (header.compression == 0) {
    if (header.bits == 16) header.masks = {0x7c00, 0x03e0, 0x001f, 0};
    if (header.bits == 32) header.masks = {0xff0000, 0xff00, 0xff, 0};
    return;
  }
  if (header.compression != kMasks && header.compression != kMasksWithAlpha) {
    unsupported(header.compression <= 2 ? "run-length encoded pixels"
                                        : text("compression ", header.compression));
  }
  if (header.bits != 16 && header.bits != 32) {
    damaged(text("colour masks need 16 or 32 bits per pixel, it has ", header.bits));
  }
  // The masks are part of version 2 and later headers and follow the header in version 1. The
  // offset is the same.
  const bool alpha = header.compression == kMasksWithAlpha || header.bytes >= 56;
  for (size_t i = 0; i < (alpha ? 4U : 3U); ++i) {
    const uint32_t mask = file.number(kFileHeader + 40 + 4 * i, 4);
    const uint32_t ones = mask == 0 ? 0 : mask >> std::countr_zero(mask);
    if ((ones & (ones + 1)) != 0) damaged("the bits of a colour mask are not contiguous");
    header.masks[i] = mask;
  }
}

Header read_header(const Reader& file) {
  Header header;
  header.bytes = file.number(kFileHeader, 4);
  if (header.bytes == 12) {
    header.width = file.number(kFileHeader + 4, 2);
    header.height = file.number(kFileHeader + 6, 2);
    header.bits = file.number(kFileHeader + 10, 2);
  } else {
    if (header.bytes < 40 || header.bytes > 1024) {
      damaged(text("its header has ", header.bytes, " bytes, expected 12 or 40 to 1024"));
    }
    header.width = static_cast<int32_t>(file.number(kFileHeader + 4, 4));
    header.height = static_cast<int32_t>(file.number(kFileHeader + 8, 4));
    header.bits = file.number(kFileHeader + 14, 2);
    header.compression = file.number(kFileHeader + 16, 4);
    header.colors = file.number(kFileHeader + 32, 4);
    header.top_down = header.height < 0;
    if (header.top_down) header.height = -header.height;
  }
  switch (header.bits) {
    case 1:
    case 4:
    case 8:
    case 16:
    case 24:
    case 32:
      break;
    default:
      unsupported(text(header.bits, " bits per pixel"));
  }
  read_masks(header, file);
  return header;
}

using Color = std::array<uint8_t, 4>;

std::array<Color, 256> read_palette(const Header& header, const Reader& file) {
  std::array<Color, 256> palette{};
  palette.fill({0, 0, 0, 255});  // indices beyond the palette are black
  if (header.bits > 8) return palette;
  const size_t size = header.bytes == 12 ? 3 : 4;
  const size_t capacity = size_t{1} << header.bits;
  if (header.colors > capacity) {
    damaged(text("its palette has ", header.colors, " colours, at most ", capacity, " fit"));
  }
  const size_t count = header.colors == 0 ? capacity : header.colors;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bgr = file.number(kFileHeader + header.bytes + size * i, 3);
    palette[i] = {static_cast<uint8_t>(bgr >> 16), static_cast<uint8_t>(bgr >> 8),
                  static_cast<uint8_t>(bgr), 255};
  }
  return palette;
}

// The bits under a mask, scaled to 0..255.
uint8_t channel(uint32_t pixel, uint32_t mask) {
  const auto shift = std::countr_zero(mask);
  const uint64_t max = mask >> shift;
  return static_cast<uint8_t>((uint64_t{(pixel & mask) >> shift} * 255 + max / 2) / max);
}

Color masked(uint32_t pixel, const std::array<uint32_t, 4>& masks) {
  Color color{0, 0, 0, 255};
  for (size_t i = 0; i < 4; ++i) {
    if (masks[i] != 0) color[i] = channel(pixel, masks[i]);
  }
  return color;
}

}  // namespace

Picture decode_bmp(File bytes, const Limits& limits) {
  const Reader file(bytes);
  const Header header = read_header(file);
  const std::array<Color, 256> palette = read_palette(header, file);
  check_size("the BMP file", header.width, header.height, limits);
  const size_t start = file.number(10, 4);
  const size_t row_bytes = header.row_bytes();
  // A truncated file is rejected as a whole. The product cannot overflow: the size is checked
  // against kMaxPixels.
  const std::byte* rows = file.part(start, row_bytes * static_cast<size_t>(header.height));
  Picture picture = allocate_picture(header.width, header.height, limits);
  auto* to = reinterpret_cast<uint8_t*>(picture.data());
  for (int64_t y = 0; y < header.height; ++y) {
    const auto place = static_cast<size_t>(header.top_down ? y : header.height - 1 - y);
    const std::byte* row = rows + place * row_bytes;
    for (size_t x = 0; x < static_cast<size_t>(header.width); ++x, to += 4) {
      Color color;
      if (header.bits <= 8) {
        const size_t bit = x * header.bits;
        const auto byte = std::to_integer<uint32_t>(row[bit / 8]);
        color = palette[byte >> (8 - header.bits - bit % 8) & ((1U << header.bits) - 1)];
      } else if (header.bits == 24) {
        color = masked(little_endian(row + 3 * x, 3), {0xff0000, 0xff00, 0xff, 0});
      } else {
        const size_t size = header.bits / 8;
        color = masked(little_endian(row + size * x, size), header.masks);
      }
      std::copy(color.begin(), color.end(), to);
    }
  }
  return picture;
}

}  // namespace dala::media
