#include "model/import/tflite/flexbuffer.hpp"

#include <optional>

#include "runtime/error.hpp"

namespace dala::model::tflite {
namespace {

// Value types of the flexbuffer format. Indirect values are stored elsewhere, at an offset.
enum Kind {
  kInt = 1,
  kUnsigned = 2,
  kFloat = 3,
  kIndirectInt = 6,
  kIndirectUnsigned = 7,
  kIndirectFloat = 8,
  kMap = 9,
  kBool = 26,
};

constexpr size_t kMaxOptions = 1000;

[[noreturn]] void reject_options() {
  throw Error(Reason::invalid_model,
              "the custom options are not a flexbuffer map of names to numbers");
}

uint64_t unsigned_at(Bytes bytes, size_t at, size_t width) {
  switch (width) {
    case 1:
      return load<uint8_t>(bytes, at);
    case 2:
      return load<uint16_t>(bytes, at);
    case 4:
      return load<uint32_t>(bytes, at);
    case 8:
      return load<uint64_t>(bytes, at);
    default:
      reject_options();
  }
}

int64_t signed_at(Bytes bytes, size_t at, size_t width) {
  const auto shift = 64 - 8 * width;
  return static_cast<int64_t>(unsigned_at(bytes, at, width) << shift) >> shift;
}

double real_at(Bytes bytes, size_t at, size_t width) {
  if (width == 4) return static_cast<double>(load<float>(bytes, at));
  if (width == 8) return load<double>(bytes, at);
  reject_options();
}

// The target of an offset. Offsets are relative to their own position and point backwards.
size_t back(Bytes bytes, size_t at, size_t width) {
  const uint64_t offset = unsigned_at(bytes, at, width);
  if (offset > at) reject_options();
  return at - offset;
}

std::optional<double> number_at(Bytes bytes, size_t at, size_t width, int kind, size_t own_width) {
  switch (kind) {
    case kInt:
      return static_cast<double>(signed_at(bytes, at, width));
    case kUnsigned:
    case kBool:
      return static_cast<double>(unsigned_at(bytes, at, width));
    case kFloat:
      return real_at(bytes, at, width);
    case kIndirectInt:
      return static_cast<double>(signed_at(bytes, back(bytes, at, width), own_width));
    case kIndirectUnsigned:
      return static_cast<double>(unsigned_at(bytes, back(bytes, at, width), own_width));
    case kIndirectFloat:
      return real_at(bytes, back(bytes, at, width), own_width);
    default:
      return std::nullopt;
  }
}

std::string key_at(Bytes bytes, size_t at) {
  std::string key;
  while (const char letter = load<char>(bytes, at++)) key += letter;
  return key;
}

}  // namespace

std::map<std::string, double> read_flexbuffer(Bytes bytes) {
  // The buffer ends with the root value, its type and its width. A type includes the width of the
  // value it points to.
  if (bytes.size() < 3) reject_options();
  const size_t root_width = load<uint8_t>(bytes, bytes.size() - 1);
  const auto kind = load<uint8_t>(bytes, bytes.size() - 2);
  if (kind >> 2 != kMap || root_width > bytes.size() - 2) reject_options();
  const size_t map = back(bytes, bytes.size() - 2 - root_width, root_width);
  const size_t width = size_t{1} << (kind & 3);
  // Before the values: the offset of the keys, their width, and their count.
  if (map < 3 * width) reject_options();
  const size_t keys = back(bytes, map - 3 * width, width);
  const uint64_t key_width = unsigned_at(bytes, map - 2 * width, width);
  const uint64_t count = unsigned_at(bytes, map - width, width);
  if (count > kMaxOptions || count > bytes.size()) reject_options();
  std::map<std::string, double> options;
  for (size_t i = 0; i < count; ++i) {
    const auto own = load<uint8_t>(bytes, map + count * width + i);
    const auto number = number_at(bytes, map + i * width, width, own >> 2, size_t{1} << (own & 3));
    if (number) options[key_at(bytes, back(bytes, keys + i * key_width, key_width))] = *number;
  }
  return options;
}

}  // namespace dala::model::tflite
