// Decoding of picture files of every type against the pixels they were made of, and of damaged
// files.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <random>

#include "media/foreign_files.hpp"
#include "support/engine_fixture.hpp"

namespace dala::test {
namespace {

using media::decode;
using media::Picture;

Bytes rgba(int width, int height, const std::function<std::array<int, 4>(int, int)>& color) {
  Bytes result;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int channel : color(x, y)) result.push_back(static_cast<uint8_t>(channel));
    }
  }
  return result;
}

// Pseudo-random values that depend only on the position.
uint32_t noise(int x, int y, int c) {
  return static_cast<uint32_t>(x * 7919 + y * 104729 + c * 1299709) * 2654435761U >> 16 & 0xffff;
}

void check(const Bytes& file, int width, int height,
           const std::function<std::array<int, 4>(int, int)>& color) {
  const Picture picture = decode(file_of(file));
  REQUIRE(picture.width == width);
  REQUIRE(picture.height == height);
  const Bytes got = pixels_of(picture);
  const Bytes expected = rgba(width, height, color);
  size_t i = 0;
  while (i < got.size() && got[i] == expected[i]) ++i;
  const bool same = i == got.size();
  CHECK_MESSAGE(same, "byte ", i, " is ", static_cast<int>(same ? 0 : got[i]), ", expected ",
                static_cast<int>(same ? 0 : expected[i]));
}

int as_int(uint32_t number) { return static_cast<int>(number); }

// Four flat quarters, so that JPEG's blocks of 8 by 8 or 16 by 16 hold one colour each.
int quarter(int x, int y) { return (x >= 32 ? 1 : 0) + (y >= 16 ? 2 : 0); }
constexpr std::array<std::array<int, 3>, 4> kColors{
    {{200, 30, 60}, {20, 180, 90}, {40, 50, 220}, {230, 220, 210}}};

JpegSpec color_jpeg() {
  JpegSpec spec;
  spec.width = 64;
  spec.height = 32;
  spec.sample = [](int x, int y, int c) {
    return kColors.at(static_cast<size_t>(quarter(x, y))).at(static_cast<size_t>(c));
  };
  return spec;
}

void check_near(const Bytes& file, int width, int height, int tolerance,
                const std::function<std::array<int, 4>(int, int)>& color) {
  const Picture picture = decode(file_of(file));
  REQUIRE(picture.width == width);
  REQUIRE(picture.height == height);
  const Bytes got = pixels_of(picture);
  const Bytes expected = rgba(width, height, color);
  int worst = 0;
  for (size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::abs(got[i] - expected[i]));
  CHECK(worst <= tolerance);
}

// An Exif segment with a few entries before the orientation.
Bytes with_exif(const Bytes& jpeg, int orientation, bool little_endian) {
  const auto put = [&](Bytes& to, uint64_t number, int size) {
    little_endian ? put_little(to, number, size) : put_big(to, number, size);
  };
  Bytes segment{'E', 'x', 'i', 'f', 0, 0};
  segment.insert(segment.end(), 2, static_cast<uint8_t>(little_endian ? 'I' : 'M'));
  put(segment, 42, 2);
  put(segment, 10, 4);  // the offset of the directory, after two bytes of padding
  put(segment, 0, 2);
  put(segment, 2, 2);
  for (const auto& [tag, number] :
       {std::pair<uint64_t, uint64_t>{0x0100, 64}, {0x0112, static_cast<uint64_t>(orientation)}}) {
    put(segment, tag, 2);
    put(segment, 3, 2);
    put(segment, 1, 4);
    put(segment, number, 2);
    put(segment, 0, 2);
  }
  Bytes result{0xff, 0xd8, 0xff, 0xe1};
  put_big(result, segment.size() + 2, 2);
  result.insert(result.end(), segment.begin(), segment.end());
  result.insert(result.end(), jpeg.begin() + 2, jpeg.end());
  return result;
}

// Decodes a file that may be damaged, which must give a picture or an Error.
bool survives(const Bytes& file) {
  try {
    const Picture picture = decode(file_of(file));
    return picture.width > 0 &&
           picture.bytes() == static_cast<size_t>(picture.width * picture.height) * 4;
  } catch (const Error& error) {
    return (error.reason == Reason::invalid_param || error.reason == Reason::unsupported) &&
           !error.message.empty();
  }
}

std::vector<Bytes> samples() {
  PngSpec palette{21, 13, 3, 4, true};
  for (int i = 0; i < 48; ++i) palette.palette.push_back(static_cast<uint8_t>(i * 5));
  palette.sample = [](int x, int y, int c) { return noise(x, y, c) % 16; };
  PngSpec deep{17, 11, 6, 16, true};
  deep.sample = noise;
  JpegSpec noisy = color_jpeg();
  noisy.quality = 90;
  noisy.sample = [](int x, int y, int c) { return as_int(noise(x, y, c) & 255); };
  JpegSpec progressive = noisy;
  progressive.progressive = true;
  BmpSpec indexed{19, 7, 4};
  indexed.palette.resize(16, 0x123456);
  indexed.pixel = [](int x, int y) { return noise(x, y, 0) % 16; };
  return {make_png(palette),      make_png(deep),    with_exif(make_jpeg(noisy), 6, true),
          make_jpeg(progressive), make_bmp(indexed), kInterlacedGif,
          kAnimatedWebp,          kLossyWebp};
}

}  // namespace

TEST_CASE("PNG files of every colour type, depth and interlacing") {
  for (bool interlaced : {false, true}) {
    CAPTURE(interlaced);
    for (const std::pair<int, int>& size : {std::pair{1, 1}, {7, 5}, {33, 18}}) {
      // Names of their own: CAPTURE is a lambda, and clang 14 refuses structured bindings there.
      const int width = size.first;
      const int height = size.second;
      CAPTURE(width);
      PngSpec spec{width, height, 6, 8, interlaced};
      spec.sample = [](int x, int y, int c) { return noise(x, y, c) & 255; };
      check(make_png(spec), width, height, [](int x, int y) {
        return std::array{as_int(noise(x, y, 0) & 255), as_int(noise(x, y, 1) & 255),
                          as_int(noise(x, y, 2) & 255), as_int(noise(x, y, 3) & 255)};
      });
      spec.color_type = 2;
      check(make_png(spec), width, height, [](int x, int y) {
        return std::array{as_int(noise(x, y, 0) & 255), as_int(noise(x, y, 1) & 255),
                          as_int(noise(x, y, 2) & 255), 255};
      });
      spec.color_type = 4;
      check(make_png(spec), width, height, [](int x, int y) {
        const int grey = as_int(noise(x, y, 0) & 255);
        return std::array{grey, grey, grey, as_int(noise(x, y, 1) & 255)};
      });
      spec.color_type = 0;
      spec.depth = 1;
      spec.sample = [](int x, int y, int) { return noise(x, y, 0) & 1; };
      check(make_png(spec), width, height, [](int x, int y) {
        const int grey = (noise(x, y, 0) & 1) != 0 ? 255 : 0;
        return std::array{grey, grey, grey, 255};
      });
      spec.depth = 2;
      spec.transparency = {0, 2};  // the transparent grey level
      spec.sample = [](int x, int y, int) { return noise(x, y, 0) & 3; };
      check(make_png(spec), width, height, [](int x, int y) {
        const int grey = as_int(noise(x, y, 0) & 3);
        return std::array{grey * 85, grey * 85, grey * 85, grey == 2 ? 0 : 255};
      });
      spec.transparency.clear();
      spec.color_type = 3;
      spec.depth = 4;
      for (int i = 0; i < 48; ++i) spec.palette.push_back(static_cast<uint8_t>(i * 5));
      spec.transparency = {10, 20};
      spec.sample = [](int x, int y, int) { return noise(x, y, 0) % 16; };
      check(make_png(spec), width, height, [](int x, int y) {
        const int index = as_int(noise(x, y, 0) % 16);
        return std::array{index * 15, index * 15 + 5, index * 15 + 10,
                          index == 0   ? 10
                          : index == 1 ? 20
                                       : 255};
      });
      // 16 bits are rounded to 8.
      spec = PngSpec{width, height, 2, 16, interlaced};
      spec.sample = noise;
      check(make_png(spec), width, height, [](int x, int y) {
        const auto rounded = [&](int c) { return as_int((noise(x, y, c) * 255 + 32767) / 65535); };
        return std::array{rounded(0), rounded(1), rounded(2), 255};
      });
    }
  }
}

TEST_CASE("BMP files of every depth") {
  const auto check_bmp = [](const BmpSpec& spec,
                            const std::function<std::array<int, 4>(int, int)>& color) {
    for (bool top_down : {false, true}) {
      BmpSpec both = spec;
      both.top_down = top_down;
      check(make_bmp(both), spec.width, spec.height, color);
    }
  };
  const auto byte = [](uint32_t number, int shift) { return as_int(number >> shift & 255); };
  BmpSpec spec{7, 5, 24};
  spec.pixel = [](int x, int y) { return noise(x, y, 0) << 8 | (noise(x, y, 1) & 255); };
  check_bmp(spec, [&](int x, int y) {
    const uint32_t bgr = noise(x, y, 0) << 8 | (noise(x, y, 1) & 255);
    return std::array{byte(bgr, 16), byte(bgr, 8), byte(bgr, 0), 255};
  });
  spec.bits = 32;
  spec.compression = 6;
  spec.masks = {0xff, 0xff00, 0xff0000, 0xff000000};
  spec.pixel = [](int x, int y) { return noise(x, y, 0) << 16 | noise(x, y, 1); };
  check_bmp(spec, [&](int x, int y) {
    const uint32_t number = noise(x, y, 0) << 16 | noise(x, y, 1);
    return std::array{byte(number, 0), byte(number, 8), byte(number, 16), byte(number, 24)};
  });
  spec = BmpSpec{9, 4, 16};
  spec.compression = 3;
  spec.masks = {0xf800, 0x07e0, 0x001f};
  spec.pixel = [](int x, int y) { return noise(x, y, 0); };
  check_bmp(spec, [](int x, int y) {
    const uint32_t number = noise(x, y, 0);
    const auto scale = [](uint32_t part, uint32_t most) {
      return static_cast<int>(static_cast<double>(part) * 255.0 / most + 0.5);
    };
    return std::array{scale(number >> 11, 31), scale(number >> 5 & 63, 63), scale(number & 31, 31),
                      255};
  });
  for (int bits : {1, 4, 8}) {
    spec = BmpSpec{13, 3, bits};
    for (uint32_t i = 0; i < 1U << bits; ++i) spec.palette.push_back(i * 65793U ^ 0x3c0000U);
    spec.pixel = bits == 1   ? [](int x, int y) { return noise(x, y, 0) & 1; }
                 : bits == 4 ? [](int x, int y) { return noise(x, y, 0) & 15; }
                             : [](int x, int y) { return noise(x, y, 0) & 255; };
    check_bmp(spec, [&](int x, int y) {
      const uint32_t color = (noise(x, y, 0) & ((1U << bits) - 1)) * 65793U ^ 0x3c0000U;
      return std::array{byte(color, 16), byte(color, 8), byte(color, 0), 255};
    });
  }
}

TEST_CASE("JPEG files: colour, grey, progressive") {
  const auto color = [](int x, int y) {
    const auto& c = kColors.at(static_cast<size_t>(quarter(x, y)));
    return std::array{c[0], c[1], c[2], 255};
  };
  JpegSpec spec = color_jpeg();
  check_near(make_jpeg(spec), 64, 32, 3, color);
  spec.progressive = true;
  check_near(make_jpeg(spec), 64, 32, 3, color);
  spec.stored = JCS_RGB;
  check_near(make_jpeg(spec), 64, 32, 2, color);
  spec = color_jpeg();
  spec.space = JCS_GRAYSCALE;
  check_near(make_jpeg(spec), 64, 32, 2, [](int x, int y) {
    const int grey = kColors.at(static_cast<size_t>(quarter(x, y)))[0];
    return std::array{grey, grey, grey, 255};
  });
}

TEST_CASE("JPEG files: CMYK and YCCK, as Adobe stores them and plain") {
  for (bool adobe : {true, false}) {
    for (J_COLOR_SPACE stored : {JCS_CMYK, JCS_YCCK}) {
      if (stored == JCS_YCCK && !adobe) continue;  // only the Adobe marker identifies YCCK
      JpegSpec spec = color_jpeg();
      spec.space = JCS_CMYK;
      spec.stored = stored;
      spec.adobe = adobe;
      spec.sample = [](int x, int y, int c) {
        return c == 3 ? 200 - 40 * quarter(x, y)
                      : kColors.at(static_cast<size_t>(quarter(x, y))).at(static_cast<size_t>(c));
      };
      check_near(make_jpeg(spec), 64, 32, 4, [&](int x, int y) {
        const auto light = [&](int c) {
          const double sample = spec.sample(x, y, c) / 255.0;
          const double key = spec.sample(x, y, 3) / 255.0;
          const double part = adobe ? sample * key : (1 - sample) * (1 - key);
          return static_cast<int>(part * 255 + 0.5);
        };
        return std::array{light(0), light(1), light(2), 255};
      });
    }
  }
}

TEST_CASE("JPEG files are rotated by their Exif orientation") {
  const Bytes upright = make_jpeg(color_jpeg());
  const Bytes pixels = pixels_of(decode(file_of(upright)));
  // The stored position, in 64 by 32 pixels, of the displayed position (x, y).
  const std::array<std::function<std::pair<int, int>(int, int)>, 9> places{
      nullptr,
      [](int x, int y) {
        return std::pair{x, y};
      },
      [](int x, int y) {
        return std::pair{63 - x, y};
      },
      [](int x, int y) {
        return std::pair{63 - x, 31 - y};
      },
      [](int x, int y) {
        return std::pair{x, 31 - y};
      },
      [](int x, int y) {
        return std::pair{y, x};
      },
      [](int x, int y) {
        return std::pair{y, 31 - x};
      },
      [](int x, int y) {
        return std::pair{63 - y, 31 - x};
      },
      [](int x, int y) {
        return std::pair{63 - y, x};
      },
  };
  for (int orientation = 1; orientation <= 8; ++orientation) {
    CAPTURE(orientation);
    const bool swapped = orientation >= 5;
    const int width = swapped ? 32 : 64;
    check(with_exif(upright, orientation, orientation % 2 == 0), width, swapped ? 64 : 32,
          [&](int x, int y) {
            const auto [column, row] = places.at(static_cast<size_t>(orientation))(x, y);
            const auto at = static_cast<size_t>(row * 64 + column) * 4;
            return std::array<int, 4>{pixels[at], pixels[at + 1], pixels[at + 2], pixels[at + 3]};
          });
  }
  CHECK(media::exif_orientation(file_of(with_exif(upright, 9, true))) == 1);
  CHECK(media::exif_orientation(file_of(with_exif(upright, 0, false))) == 1);
  const Bytes whole = with_exif(upright, 6, false);
  for (size_t size = 0; size < 60; ++size) {
    const int found = media::exif_orientation(file_of(whole).first(size));
    CHECK(found == (size >= 48 ? 6 : 1));
  }
}

TEST_CASE("encoded pictures are decoded again") {
  const Bytes pixels = rgba(37, 23, [](int x, int y) {
    return std::array{x * 6, y * 11, (x + y) * 4, 255 - x};
  });
  const media::View view{37, 23, reinterpret_cast<const std::byte*>(pixels.data())};
  const std::vector<std::byte> png = media::encode_png(view);
  const Picture picture = decode(png);
  CHECK(picture.width == 37);
  CHECK(picture.height == 23);
  CHECK(pixels_of(picture) == pixels);

  const std::vector<std::byte> jpeg = media::encode_jpeg(view, 95);
  const Bytes got = pixels_of(decode(jpeg));
  REQUIRE(got.size() == pixels.size());
  int worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    worst = std::max(worst, std::abs(got[i] - (i % 4 == 3 ? 255 : pixels[i])));
  }
  CHECK(worst <= 8);
  CHECK(media::encode_jpeg(view, 10).size() < jpeg.size());
}

TEST_CASE("every truncated file is an error") {
  for (const Bytes& file : samples()) {
    // A BMP or GIF is complete with its last pixel; padding, or an end code, may follow.
    const size_t spare = file[0] == 'B' ? 3 : file[0] == 'G' ? 4 : 0;
    const size_t step = std::max<size_t>(1, file.size() / 200);
    size_t accepted = 0;
    for (size_t size = 0; size + spare < file.size(); size += step) {
      const Bytes part(file.begin(), file.begin() + static_cast<int64_t>(size));
      const auto error = error_of([&] { decode(file_of(part)); });
      accepted += error ? 0 : 1;
      if (!error) continue;
      CHECK((error->reason == Reason::invalid_param || error->reason == Reason::unsupported));
    }
    CHECK(accepted == 0);
  }
}

TEST_CASE("files with flipped bits are pictures or errors") {
  std::mt19937 random(7);
  for (const Bytes& file : samples()) {
    for (int round = 0; round < 400; ++round) {
      Bytes broken = file;
      const int flips = 1 + static_cast<int>(random() % 4);
      // Half of the flips are near the start, where the sizes and tables are.
      const size_t reach = round % 2 == 0 ? std::min<size_t>(file.size(), 200) : file.size();
      for (int i = 0; i < flips; ++i) {
        broken[random() % reach] ^= static_cast<uint8_t>(1U << random() % 8);
      }
      CHECK(survives(broken));
    }
  }
}

TEST_CASE("errors of invalid picture files") {
  const auto problem = [](const Bytes& file) { return failure([&] { decode(file_of(file)); }); };
  CHECK(problem({}) == "unsupported: the file is empty");
  CHECK(problem({'G', 'I', 'F'}) ==
        "unsupported: the file is not a PNG, JPEG, WebP, GIF or BMP file");

  PngSpec png{3, 2};
  png.sample = noise;
  png.color_type = 0;
  png.sample = [](int, int, int) { return 7U; };
  Bytes file = make_png(png);
  file.resize(file.size() / 2);
  CHECK(problem(file) == "invalid_param: the PNG file is damaged: it ends too early");

  // The size in the header alone is enough to reject it.
  file = make_png(png);
  Bytes header(file.begin() + 12, file.begin() + 29);
  for (size_t i = 4; i < 12; ++i) header[i] = i % 4 == 1 ? 15 : 0;  // 983040 by 983040
  std::copy(header.begin(), header.end(), file.begin() + 12);
  Bytes crc;
  put_big(crc, crc32(header.data(), header.size()), 4);
  std::copy(crc.begin(), crc.end(), file.begin() + 29);
  CHECK(problem(file) ==
        "unsupported: the PNG file has 983040 by 983040 pixels, more than the limit of 67108864");

  file = make_jpeg(color_jpeg());
  file.resize(file.size() - 40);
  CHECK(problem(file) == "invalid_param: the JPEG file is damaged: Premature end of JPEG file");

  BmpSpec bmp{2, 2};
  bmp.pixel = [](int, int) { return 1U; };
  file = make_bmp(bmp);
  file.pop_back();
  CHECK(problem(file) == "invalid_param: the BMP file is damaged: it ends too early");
  file = make_bmp(bmp);
  file[18] = 0;
  CHECK(problem(file) ==
        "invalid_param: the BMP file is damaged: its header declares 0 by 2 pixels");
  file[18] = file[19] = file[20] = 255;
  file[21] = 0x7f;
  file[23] = file[24] = 1;
  CHECK(problem(file) ==
        "unsupported: the BMP file has 2147483647 by 65794 pixels, more than the "
        "limit of 67108864");
  bmp.compression = 1;
  CHECK(problem(make_bmp(bmp)) ==
        "unsupported: the BMP file has run-length encoded pixels, which cannot be read");
}

}  // namespace dala::test
