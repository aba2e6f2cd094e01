// Decoding of GIF files: files of another program, and files of an encoder of the test's own for
// what that program does not write.
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "media/foreign_files.hpp"
#include "support/engine_fixture.hpp"

namespace dala::test {
namespace {

using media::decode;
using media::Picture;

using Color = std::array<uint8_t, 4>;

Color color_at(const Picture& picture, int x, int y) {
  const auto* data = reinterpret_cast<const uint8_t*>(picture.data());
  const auto* pixel = data + (y * picture.width + x) * 4;
  return {pixel[0], pixel[1], pixel[2], pixel[3]};
}

Color color_of(int i) {
  return {static_cast<uint8_t>(17 * i), static_cast<uint8_t>(255 - 9 * i),
          static_cast<uint8_t>(40 * i), 255};
}

// The index of the files in foreign_files.hpp.
int index_at(int x, int y) { return (x * x + 3 * y + x * y) % 16; }

int noise(int x, int y) {
  return static_cast<int>(static_cast<uint32_t>(x * 7919 + y * 104729) * 2654435761U >> 24);
}

template <typename Expected>
void check(const Bytes& file, int width, int height, const Expected& expected) {
  const Picture picture = decode(file_of(file));
  REQUIRE(picture.width == width);
  REQUIRE(picture.height == height);
  int wrong = 0;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) wrong += color_at(picture, x, y) == expected(x, y) ? 0 : 1;
  }
  CHECK(wrong == 0);
}

// Codes, least significant bit first, in blocks of at most 255 bytes.
class CodeWriter {
 public:
  void put(uint32_t code, int width) {
    bits_ |= uint64_t{code} << held_;
    for (held_ += width; held_ >= 8; held_ -= 8, bits_ >>= 8) {
      bytes_.push_back(static_cast<uint8_t>(bits_));
    }
  }
  void finish(Bytes& file) {
    if (held_ > 0) bytes_.push_back(static_cast<uint8_t>(bits_));
    for (size_t at = 0; at < bytes_.size(); at += 255) {
      const size_t size = std::min<size_t>(255, bytes_.size() - at);
      file.push_back(static_cast<uint8_t>(size));
      const auto first = bytes_.begin() + static_cast<int64_t>(at);
      file.insert(file.end(), first, first + static_cast<int64_t>(size));
    }
    file.push_back(0);
  }

 private:
  Bytes bytes_;
  uint64_t bits_ = 0;
  int held_ = 0;
};

struct GifSpec {
  int width = 1;
  int height = 1;
  int left = 0;
  int top = 0;
  int canvas_width = 0;
  int canvas_height = 0;
  int bits = 8;  // of a pixel
  bool local_palette = false;
  bool clears = true;  // when the table is full; otherwise it stays full
  std::function<int(int x, int y)> index = {};
};

// LZW with strings as keys of a map: the table of the definition, not the tree of the decoder.
void put_pixels(Bytes& gif, const GifSpec& spec) {
  gif.push_back(static_cast<uint8_t>(spec.bits));
  const uint32_t clear = 1U << spec.bits;
  CodeWriter codes;
  std::map<std::string, uint32_t> table;
  uint32_t next = 0;
  int width = 0;
  const auto reset = [&] {
    table.clear();
    for (uint32_t i = 0; i < clear; ++i) table[std::string(1, static_cast<char>(i))] = i;
    next = clear + 2;
    width = spec.bits + 1;
  };
  reset();
  codes.put(clear, width);
  std::string held;
  for (int i = 0; i < spec.width * spec.height; ++i) {
    const int index = spec.index(i % spec.width, i / spec.width);
    const std::string longer = held + static_cast<char>(index);
    if (table.contains(longer)) {
      held = longer;
      continue;
    }
    codes.put(table.at(held), width);
    if (next < 4096) {
      if (next == 1U << width) ++width;
      table[longer] = next++;
    } else if (spec.clears) {
      codes.put(clear, width);
      reset();
    }
    held = longer.back();
  }
  codes.put(table.at(held), width);
  codes.put(clear + 1, width);
  codes.finish(gif);
}

Bytes make_gif(const GifSpec& spec) {
  Bytes gif{'G', 'I', 'F', '8', '9', 'a'};
  put_little(gif, static_cast<uint64_t>(spec.canvas_width), 2);
  put_little(gif, static_cast<uint64_t>(spec.canvas_height), 2);
  const auto flags = static_cast<uint8_t>(0x80 | (spec.bits - 1));
  gif.insert(gif.end(), {static_cast<uint8_t>(spec.local_palette ? 0 : flags), 0, 0});
  const auto put_palette = [&] {
    for (int i = 0; i < 1 << spec.bits; ++i) {
      const Color color = color_of(i);
      gif.insert(gif.end(), color.begin(), color.begin() + 3);
    }
  };
  if (!spec.local_palette) put_palette();
  gif.insert(gif.end(), {0x21, 0xfe, 2, 'h', 'i', 0});  // a comment
  gif.push_back(0x2c);
  for (int number : {spec.left, spec.top, spec.width, spec.height}) {
    put_little(gif, static_cast<uint64_t>(number), 2);
  }
  gif.push_back(static_cast<uint8_t>(spec.local_palette ? flags : 0));
  if (spec.local_palette) put_palette();
  put_pixels(gif, spec);
  gif.push_back(0x3b);
  return gif;
}

std::string problem(const Bytes& file) {
  return failure([&] { decode(file_of(file)); });
}

}  // namespace

TEST_CASE("GIF files of another program") {
  check(kInterlacedGif, 13, 11, [](int x, int y) {
    const int index = index_at(x, y);
    return index == 5 ? Color{0, 0, 0, 0} : color_of(index);
  });
  check(kTwoColorGif, 9, 3, [](int x, int y) {
    const auto level = static_cast<uint8_t>((x * y + x) % 2 == 0 ? 0 : 255);
    return Color{level, level, level, 255};
  });
  check(kAnimatedGif, 13, 11, [](int x, int y) { return color_of(index_at(x, y)); });
}

TEST_CASE("GIF files with a table that is full, cleared or kept") {
  for (const int bits : {1, 2, 5, 8}) {
    for (const bool clears : {true, false}) {
      for (const auto& [width, height] : {std::pair{1, 1}, {3, 2}, {300, 200}}) {
        GifSpec spec{width, height};
        spec.bits = bits;
        spec.clears = clears;
        spec.index = [&](int x, int y) { return noise(x, y) >> (8 - bits); };
        check(make_gif(spec), width, height,
              [&](int x, int y) { return color_of(spec.index(x, y)); });
        // Long runs: a code that stands for a string which it adds itself.
        spec.index = [](int, int) { return 1; };
        check(make_gif(spec), width, height, [](int, int) { return color_of(1); });
      }
    }
  }
}

TEST_CASE("a GIF frame that is a part of the canvas, or larger than it") {
  GifSpec spec{5, 4};
  spec.left = 3;
  spec.top = 2;
  spec.local_palette = true;
  spec.index = noise;
  const auto expected = [&](int x, int y) {
    const bool inside = x >= 3 && x < 8 && y >= 2 && y < 6;
    return inside ? color_of(noise(x - 3, y - 2)) : Color{0, 0, 0, 0};
  };
  spec.canvas_width = 10;
  spec.canvas_height = 7;
  check(make_gif(spec), 10, 7, expected);
  spec.canvas_width = spec.canvas_height = 0;
  check(make_gif(spec), 8, 6, expected);
}

TEST_CASE("errors of invalid GIF files") {
  GifSpec spec{5, 4};
  spec.bits = 2;
  spec.index = [](int x, int y) { return noise(x, y) >> 6; };
  const Bytes whole = make_gif(spec);
  const size_t frame = 6 + 7 + 12 + 6;  // header, screen, palette, comment
  REQUIRE(whole[frame] == 0x2c);
  const auto with = [&](size_t at, uint8_t byte) {
    Bytes file = whole;
    file.at(at) = byte;
    return file;
  };
  const std::string start = "invalid_param: the GIF file is damaged: ";
  CHECK(problem({'G', 'I', 'F', '8', '9', 'a', 5}) == start + "it ends too early");
  CHECK(problem(with(frame, 0x3b)) == start + "it has no picture");
  CHECK(problem(with(frame, 0x11)) == start + "it has a block of unknown kind 17");
  CHECK(problem(with(frame + 5, 0)) == start + "its header declares 0 by 4 pixels");
  CHECK(problem(with(frame + 7, 50)) == start + "its pixels end too early");
  CHECK(problem(with(frame + 10, 9)) == start + "its pixels have 9 bits, expected 1 to 8");
  CHECK(problem(with(frame + 11, 0)) == start + "its pixels end too early");
  // Clear (4), then a code beyond the symbols.
  CHECK(problem(with(frame + 12, 4 | 6 << 3)) == start + "its pixels have an invalid code");
  Bytes large = with(frame + 6, 0xff);
  large.at(frame + 8) = 0xff;
  CHECK(problem(large) ==
        "unsupported: the GIF file has 65285 by 65284 pixels, more than the limit of 67108864");
  Bytes bare = make_gif(spec);
  bare[10] = 0;
  bare.erase(bare.begin() + 13, bare.begin() + 25);
  CHECK(problem(bare) == start + "it has no palette");
}

}  // namespace dala::test
