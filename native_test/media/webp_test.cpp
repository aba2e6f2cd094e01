// WebP files of other programs, and files of our own encoder.
#include <doctest/doctest.h>

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

// The pixels of the lossless files.
std::array<int, 4> color_at(int x, int y) { return {x * 6, y * 11, (x + y) * 4, 255 - x * 7}; }

int worst(const Bytes& got, const Bytes& expected) {
  REQUIRE(got.size() == expected.size());
  int result = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    result = std::max(result, std::abs(got[i] - expected[i]));
  }
  return result;
}

media::View view_of(const Bytes& pixels, int width, int height) {
  return {width, height, reinterpret_cast<const std::byte*>(pixels.data())};
}

Bytes encoded(const Bytes& pixels, int width, int height, int quality) {
  const auto file = media::encode_webp(view_of(pixels, width, height), quality);
  const auto* first = reinterpret_cast<const uint8_t*>(file.data());
  return {first, first + file.size()};
}

void put_riff(Bytes& to, const std::string& name, const Bytes& content) {
  to.insert(to.end(), name.begin(), name.end());
  put_little(to, content.size(), 4);
  to.insert(to.end(), content.begin(), content.end());
  if (content.size() % 2 != 0) to.push_back(0);
}

// An animation of one frame, whose offset is even.
Bytes animation(int width, int height, int left, int top, const Bytes& still) {
  Bytes extended{2, 0, 0, 0};
  put_little(extended, static_cast<uint64_t>(width - 1), 3);
  put_little(extended, static_cast<uint64_t>(height - 1), 3);
  Bytes frame;
  put_little(frame, static_cast<uint64_t>(left / 2), 3);
  put_little(frame, static_cast<uint64_t>(top / 2), 3);
  put_little(frame, 12, 3);
  put_little(frame, 10, 3);
  put_little(frame, 100, 4);
  frame.insert(frame.end(), still.begin() + 12, still.end());
  Bytes content{'W', 'E', 'B', 'P'};
  put_riff(content, "VP8X", extended);
  put_riff(content, "ANIM", {0, 0, 0, 0, 0, 0});
  put_riff(content, "ANMF", frame);
  Bytes file;
  put_riff(file, "RIFF", content);
  return file;
}

std::string problem(const Bytes& file) {
  return failure([&] { decode(file_of(file)); });
}

}  // namespace

TEST_CASE("WebP files of other programs: lossless, lossy, animated") {
  for (const Bytes& file : {kLosslessWebp, kAnimatedWebp}) {
    const Picture picture = decode(file_of(file));
    CHECK(picture.width == 13);
    CHECK(picture.height == 11);
    CHECK(pixels_of(picture) == rgba(13, 11, color_at));
  }
  const Picture lossy = decode(file_of(kLossyWebp));
  CHECK(lossy.width == 32);
  CHECK(lossy.height == 16);
  // Chroma has half the resolution, so the colours bleed into each other near the edge.
  const Bytes got = pixels_of(lossy);
  const Bytes expected = rgba(32, 16, [&](int x, int y) {
    const bool edge = x >= 14 && x < 18;
    const auto* pixel = &got.at(static_cast<size_t>(y * 32 + x) * 4);
    const int alpha = x < 16 ? 255 : 128;
    if (edge) return std::array<int, 4>{pixel[0], pixel[1], pixel[2], alpha};
    return x < 16 ? std::array{200, 30, 60, alpha} : std::array{20, 180, 90, alpha};
  });
  CHECK(worst(got, expected) <= 6);
}

TEST_CASE("a WebP frame that is a part of the canvas") {
  const Bytes still = encoded(rgba(13, 11, color_at), 13, 11, media::kLossless);
  const Picture picture = decode(file_of(animation(20, 15, 4, 2, still)));
  CHECK(picture.width == 20);
  CHECK(picture.height == 15);
  CHECK(pixels_of(picture) == rgba(20, 15, [](int x, int y) {
          const bool inside = x >= 4 && x < 17 && y >= 2 && y < 13;
          return inside ? color_at(x - 4, y - 2) : std::array{0, 0, 0, 0};
        }));
  CHECK(problem(animation(16, 15, 4, 2, still)) ==
        "invalid_param: the WebP file is damaged: its first frame, 13 by 11 pixels at 4, 2, is not "
        "inside 16 by 15 pixels");
  CHECK(problem(animation(20, 15, 4, 30, still)).ends_with("is not inside 20 by 15 pixels"));
}

TEST_CASE("WebP files are encoded lossless and lossy") {
  const Bytes pixels = rgba(37, 23, [](int x, int y) {
    return std::array{x * 6, y * 11, (x + y) * 4, 255 - x};
  });
  const Bytes lossless = encoded(pixels, 37, 23, media::kLossless);
  CHECK(pixels_of(decode(file_of(lossless))) == pixels);
  const Bytes fine = encoded(pixels, 37, 23, 95);
  CHECK(worst(pixels_of(decode(file_of(fine))), pixels) <= 16);
  CHECK(encoded(pixels, 37, 23, 10).size() < fine.size());
  const Bytes wide(size_t{16384} * 4);
  CHECK(failure([&] { media::encode_webp(view_of(wide, 16384, 1), 90); }) ==
        "unsupported: a WebP file has at most 16383 rows and columns, the picture is 16384 by 1");
}

TEST_CASE("errors of invalid WebP files") {
  const std::string start = "invalid_param: the WebP file is damaged: ";
  Bytes file = kLosslessWebp;
  file.pop_back();
  CHECK(problem(file) == start + "it ends too early");
  file = kLosslessWebp;
  file[20] = 0;  // the signature of lossless data
  CHECK(problem(file) == start + "it has no valid header");
  file = kLosslessWebp;
  std::fill(file.begin() + 26, file.end(), 0xff);
  CHECK(problem(file) == start + "its pixels cannot be decoded");
  CHECK(failure([&] { decode(file_of(kLosslessWebp), media::Limits{142}); }) ==
        "unsupported: the WebP file has 13 by 11 pixels, more than the limit of 142");
}

TEST_CASE("the working memory of libwebp is accounted for while it decodes") {
  const uint64_t before = shared_bytes();
  std::vector<size_t> asked;
  const media::Limits limits{media::kDefaultMaxPixels, [&](size_t bytes) {
                               asked.push_back(bytes);
                               return hold_shared(bytes, 0);
                             }};
  {
    const Picture picture = decode(file_of(kLosslessWebp), limits);
    CHECK(asked == std::vector<size_t>{13 * 11 * 4, 13 * 11 * 4});
    CHECK(shared_bytes() == before + 13 * 11 * 4);
  }
  CHECK(shared_bytes() == before);
}

}  // namespace dala::test
