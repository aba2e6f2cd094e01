// Picture files. A PNG chunk with a wrong checksum is rejected early, so mutated chunks usually get
// a valid one.
#include "media/picture.hpp"

#include <cstring>
#include <random>

#include "fuzz/targets.hpp"
#include "media/files.hpp"
#include "runtime/error.hpp"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace dala::test::fuzz {
namespace {

constexpr size_t kSignature = 8;
constexpr size_t kChunkFrame = 12;  // length, name and checksum

uint32_t big(const uint8_t* from) {
  return uint32_t{from[0]} << 24 | uint32_t{from[1]} << 16 | uint32_t{from[2]} << 8 | from[3];
}

void correct_checksums(uint8_t* data, size_t size) {
  if (size < kSignature || std::memcmp(data, "\x89PNG", 4) != 0) return;
  for (size_t at = kSignature; at + kChunkFrame <= size;) {
    const size_t length = big(data + at);
    if (length > size - at - kChunkFrame) return;
    const uint32_t sum = crc32(data + at + 4, length + 4);
    for (size_t i = 0; i < 4; ++i) {
      data[at + 8 + length + i] = static_cast<uint8_t>(sum >> (24 - 8 * i));
    }
    at += length + kChunkFrame;
  }
}

}  // namespace

void run_picture(Input file) {
  try {
    const media::Picture picture = media::decode(file);
    if (picture.bytes() != static_cast<size_t>(picture.width * picture.height) * 4) {
      finding("a picture of another size than it says");
    }
    // The last pixel must be readable.
    [[maybe_unused]] static volatile uint8_t seen;
    seen = std::to_integer<uint8_t>(picture.data()[picture.bytes() - 1]);
  } catch (const Error&) {
    // The file is refused, with a reason.
  }
}

size_t mutate_picture(uint8_t* data, size_t size, size_t most, unsigned seed) {
  const size_t result = LLVMFuzzerMutate(data, size, most);
  if (std::minstd_rand(seed)() % 16 != 0) correct_checksums(data, result);
  return result;
}

}  // namespace dala::test::fuzz
