// The GIF decoder: the first frame of a GIF87a or GIF89a file, with its transparency, interlaced or
// not. Pixels of the canvas that the frame does not cover are transparent.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "media/lzw.hpp"
#include "media/picture.hpp"
#include "runtime/error.hpp"

namespace dala::media {
namespace {

constexpr unsigned kImage = 0x2c;
constexpr unsigned kExtension = 0x21;
constexpr unsigned kTrailer = 0x3b;
constexpr unsigned kGraphicControl = 0xf9;
constexpr int kOpaque = -1;

[[noreturn]] void damaged_gif(const std::string& how) {
  throw Error(Reason::invalid_param, text("the GIF file is damaged: ", how));
}

class GifReader {
 public:
  explicit GifReader(File bytes) : rest_(bytes) {}

  unsigned byte() { return std::to_integer<unsigned>(take(1)[0]); }
  int64_t word() {
    const File bytes = take(2);
    return std::to_integer<int64_t>(bytes[0]) | std::to_integer<int64_t>(bytes[1]) << 8;
  }
  File take(size_t size) {
    if (size > rest_.size()) damaged_gif("it ends too early");
    const File taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }
  // The next of the blocks that data is split into; an empty one is the last.
  File block() { return take(byte()); }
  void skip_blocks() {
    while (!block().empty()) {
    }
  }

 private:
  File rest_;
};

using Color = std::array<uint8_t, 4>;

struct Palette {
  std::array<Color, 256> colors{};
  bool present = false;
};

// `flags` are those of the screen or of an image: both have the table's size at the same place.
Palette read_colors(GifReader& file, unsigned flags) {
  Palette palette;
  palette.colors.fill({0, 0, 0, 255});  // indices beyond the palette are black
  if ((flags & 0x80) == 0) return palette;
  palette.present = true;
  const size_t count = size_t{2} << (flags & 7);
  const File bytes = file.take(3 * count);
  for (size_t i = 0; i < count; ++i) {
    for (size_t c = 0; c < 3; ++c) {
      palette.colors[i][c] = std::to_integer<uint8_t>(bytes[3 * i + c]);
    }
  }
  return palette;
}

// Codes of a growing width, from data that is split into blocks.
class Codes {
 public:
  explicit Codes(GifReader& file) : file_(file) {}

  unsigned next(int width) {
    while (held_ < width) {
      if (block_.empty()) block_ = file_.block();
      if (block_.empty()) damaged_gif("its pixels end too early");
      bits_ |= std::to_integer<unsigned>(block_[0]) << held_;
      held_ += 8;
      block_ = block_.subspan(1);
    }
    const unsigned code = bits_ & ((1U << width) - 1);
    bits_ >>= width;
    held_ -= width;
    return code;
  }

 private:
  GifReader& file_;
  File block_;
  unsigned bits_ = 0;
  int held_ = 0;
};

struct GifFrame {
  int64_t left = 0;
  int64_t top = 0;
  int64_t width = 0;
  int64_t height = 0;
  bool interlaced = false;
  Palette palette;
};

// The rows of a frame in the order of the file: all of them, or in four passes.
class Rows {
 public:
  Rows(int64_t height, bool interlaced) : height_(height), pass_(interlaced ? 0 : 4) { settle(); }

  int64_t row() const { return row_; }
  void advance() {
    row_ += kPasses[pass_].second;
    settle();
  }

 private:
  static constexpr std::array<std::pair<int64_t, int64_t>, 5> kPasses{
      {{0, 8}, {4, 8}, {2, 4}, {1, 2}, {0, 1}}};  // the first row, and the step

  // Low frames have no rows in some passes.
  void settle() {
    while (row_ >= height_ && pass_ < 3) row_ = kPasses[++pass_].first;
  }

  int64_t height_;
  size_t pass_;
  int64_t row_ = 0;
};

void read_pixels(GifReader& file, const GifFrame& frame, const Picture& picture) {
  const unsigned symbol_bits = file.byte();
  if (symbol_bits < 1 || symbol_bits > 8) {
    damaged_gif(text("its pixels have ", symbol_bits, " bits, expected 1 to 8"));
  }
  LzwDecoder decoder(static_cast<int>(symbol_bits));
  Codes codes(file);
  Rows rows(frame.height, frame.interlaced);
  int64_t x = 0;
  const auto place = [&] {
    return picture.data() + ((frame.top + rows.row()) * picture.width + frame.left) * 4;
  };
  std::byte* row = place();
  for (int64_t left = frame.width * frame.height; left > 0;) {
    switch (decoder.take(codes.next(decoder.width()))) {
      case LzwDecoder::Result::more:
        break;
      case LzwDecoder::Result::end:
        damaged_gif("its pixels end too early");
      case LzwDecoder::Result::invalid:
        damaged_gif("its pixels have an invalid code");
    }
    for (const uint8_t symbol : decoder.symbols()) {
      if (left == 0) break;  // more than the frame has
      std::memcpy(row + x * 4, frame.palette.colors[symbol].data(), 4);
      --left;
      if (++x < frame.width || left == 0) continue;
      x = 0;
      rows.advance();
      row = place();
    }
  }
}

// Reads what precedes the first frame; returns the index of the transparent colour, or kOpaque.
int read_extensions(GifReader& file) {
  int transparent = kOpaque;
  for (;;) {
    const unsigned kind = file.byte();
    if (kind == kImage) return transparent;
    if (kind == kTrailer) damaged_gif("it has no picture");
    if (kind != kExtension) damaged_gif(text("it has a block of unknown kind ", kind));
    if (file.byte() == kGraphicControl) {
      const File control = file.block();
      if (control.size() >= 4) {
        const bool has_one = (std::to_integer<unsigned>(control[0]) & 1) != 0;
        transparent = has_one ? std::to_integer<int>(control[3]) : kOpaque;
      }
      if (control.empty()) continue;
    }
    file.skip_blocks();
  }
}

}  // namespace

Picture decode_gif(File bytes, const Limits& limits) {
  GifReader file(bytes);
  file.take(6);  // GIF87a or GIF89a
  int64_t width = file.word();
  int64_t height = file.word();
  const unsigned screen = file.byte();
  file.take(2);  // the background, which nobody shows, and the aspect ratio
  const Palette shared = read_colors(file, screen);

  const int transparent = read_extensions(file);
  GifFrame frame;
  frame.left = file.word();
  frame.top = file.word();
  frame.width = file.word();
  frame.height = file.word();
  const unsigned flags = file.byte();
  frame.interlaced = (flags & 0x40) != 0;
  frame.palette = read_colors(file, flags);
  if (!frame.palette.present) frame.palette = shared;
  if (!frame.palette.present) damaged_gif("it has no palette");
  if (transparent != kOpaque) {
    frame.palette.colors.at(static_cast<size_t>(transparent)) = {0, 0, 0, 0};
  }
  check_size("the GIF file", frame.width, frame.height, limits);
  // Some files declare a canvas of 0 by 0, or one that is smaller than the frame.
  width = std::max(width, frame.left + frame.width);
  height = std::max(height, frame.top + frame.height);
  check_size("the GIF file", width, height, limits);

  Picture picture = allocate_picture(width, height, limits);
  if (width != frame.width || height != frame.height) {
    std::memset(picture.data(), 0, picture.bytes());
  }
  read_pixels(file, frame, picture);
  return picture;
}

}  // namespace dala::media
