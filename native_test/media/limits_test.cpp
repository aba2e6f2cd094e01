// The limits of decoding: pixels, and memory, which is accounted for before it is allocated.
#include <doctest/doctest.h>

#include "media/files.hpp"
#include "support/engine_fixture.hpp"

namespace dala::test {
namespace {

using media::decode;
using media::Limits;
using media::Picture;

// Records the memory that is requested, up to a limit.
struct Account {
  Limits limits(size_t most = SIZE_MAX) {
    return {media::kDefaultMaxPixels, [this, most](size_t bytes) {
              asked.push_back(bytes);
              return hold_shared(bytes, most == SIZE_MAX ? 0 : shared_bytes() + most);
            }};
  }
  std::vector<size_t> asked;
};

// Noise, so that no two blocks are the same.
Bytes jpeg_file(int width, int height, bool progressive) {
  JpegSpec spec;
  spec.width = width;
  spec.height = height;
  spec.progressive = progressive;
  spec.sample = [](int x, int, int channel) {
    const int i = 3 * x + channel;
    return (i * 31 + i * i % 7) & 0xff;
  };
  return make_jpeg(spec);
}

Bytes png_file(int width, int height) {
  PngSpec spec{width, height};
  spec.color_type = 0;
  spec.sample = [](int, int, int) { return 7U; };
  return make_png(spec);
}

}  // namespace

TEST_CASE("the memory of a picture is accounted for during its lifetime") {
  const uint64_t before = shared_bytes();
  Account account;
  {
    const Picture picture = decode(file_of(png_file(30, 20)), account.limits());
    CHECK(account.asked == std::vector<size_t>{30 * 20 * 4});
    CHECK(shared_bytes() == before + 30 * 20 * 4);
  }
  CHECK(shared_bytes() == before);
}

TEST_CASE("a picture beyond the memory limit is rejected") {
  const uint64_t before = shared_bytes();
  for (const Bytes& file :
       {png_file(30, 20), jpeg_file(30, 20, false), make_bmp(BmpSpec{30, 20})}) {
    Account account;
    const auto refused = error_of([&] { decode(file_of(file), account.limits(2399)); });
    REQUIRE(refused);
    CHECK(refused->reason == Reason::out_of_memory);
    CHECK(account.asked == std::vector<size_t>{2400});
    CHECK(decode(file_of(file), account.limits(2400)).width == 30);
    CHECK(failure([&] {
            decode(file_of(file), Limits{599});
          }).ends_with(" file has 30 by 20 pixels, more than the limit of 599"));
    CHECK(decode(file_of(file), Limits{600}).height == 20);
  }
  CHECK(shared_bytes() == before);
}

TEST_CASE("the coefficients of a progressive JPEG are accounted for while it is decoded") {
  const uint64_t before = shared_bytes();
  const Bytes file = jpeg_file(80, 40, true);
  // Three channels of 10 by 5 blocks of 64 coefficients.
  const size_t coefficients = size_t{3} * 10 * 5 * 64 * sizeof(JCOEF);
  const size_t pixels = 80 * 40 * 4;
  Account account;
  {
    const Picture picture = decode(file_of(file), account.limits(coefficients + pixels));
    CHECK(account.asked == std::vector<size_t>{coefficients, pixels});
    CHECK(shared_bytes() == before + pixels);
  }
  CHECK(error_of([&] { decode(file_of(file), account.limits(pixels)); })->reason ==
        Reason::out_of_memory);
  CHECK(shared_bytes() == before);
}

TEST_CASE("a truncated file with a large size in its header allocates no memory") {
  Account account;
  BmpSpec spec{2, 2};
  Bytes file = make_bmp(spec);
  file[18] = 0x00;
  file[19] = 0x10;  // 4096 columns
  file[22] = 0x00;
  file[23] = 0x10;
  CHECK(failure([&] { decode(file_of(file), account.limits()); }) ==
        "invalid_param: the BMP file is damaged: it ends too early");
  CHECK(account.asked.empty());
}

}  // namespace dala::test
